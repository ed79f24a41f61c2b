//! Time zone, locale, seeds, network, directory order, variables, home and interpreter.

use std::fs;

use e2e::{Sandbox, python};
use nix::sys::signal::Signal;

use super::{stdout_of_program, stdout_under, under};

#[test]
fn time_zone_locale_and_variables_are_set() {
    let script = "import locale, os, time\n\
                  print(time.localtime(1800000000).tm_gmtoff, locale.setlocale(locale.LC_ALL, ''), os.environ.get('NAME'), os.environ.get('GONE'))";
    let sandbox = Sandbox::new();
    let factors = "--time-zone JST-9 --locale POSIX --variable NAME=a=b --variable GONE";
    let result = under(&sandbox, factors, script).env("GONE", "still here").finish().expect_exit(0);
    assert_eq!(result.stdout.trim(), "32400 C a=b None");
}

#[test]
fn a_hash_seed_fixes_hashes() {
    let hash = |seed: u32| stdout_under(&format!("--hash-seed {seed}"), "print(hash('unflake'))");
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
}

#[test]
fn a_random_seed_fixes_every_source_of_randomness() {
    let script = "import os, random, secrets, subprocess, sys, uuid, ctypes\n\
                  drawn = [os.urandom(6).hex(), random.random(), secrets.token_hex(4), uuid.uuid4(), hash('x')]\n\
                  drawn += [open('/dev/urandom', 'rb').read(4).hex(), open('/dev/random', 'rb').read(4).hex()]\n\
                  read, write = os.pipe()\n\
                  if os.fork() == 0: os.write(write, os.urandom(6).hex().encode()); os._exit(0)\n\
                  drawn += [os.read(read, 100), os.urandom(6).hex()]\n\
                  child = [sys.executable, '-c', 'import os; print(os.urandom(6).hex())']\n\
                  drawn += [subprocess.check_output(child) for _ in range(3)]\n\
                  assert len(set(drawn)) == len(drawn), drawn\n\
                  print(drawn)";
    let drawn = |seed: u64| stdout_under(&format!("--random-seed {seed}"), script);
    let first = drawn(u64::MAX);
    assert_eq!(drawn(u64::MAX), first);
    assert_ne!(drawn(1), first);
    let shuffle = "import java.security.*; class Draw { public static void main(String[] words) { System.out.println(new SecureRandom().nextLong()); } }";
    let sandbox = Sandbox::new().file("Draw.java", shuffle);
    let java = || stdout_of_program(&sandbox, "--random-seed 7", &["java", "Draw.java"]);
    assert_eq!(java(), java());
}

/// An allocator may draw while it is not ready to allocate, as that of Chromium does.
#[test]
fn programs_with_their_own_allocator_start_under_seeds() {
    let sandbox = Sandbox::new().file("own_allocator.c", include_str!("own_allocator.c"));
    for words in [
        "-DLIBRARY -shared -fPIC -o libearly.so own_allocator.c",
        "-o own_allocator own_allocator.c -L. -learly -Wl,-rpath,$ORIGIN",
    ] {
        assert!(sandbox.command("cc").args(words.split(' ')).status().unwrap().success());
    }
    let command = ["timeout", "20", "./own_allocator"];
    let drawn = || stdout_of_program(&sandbox, "--random-seed 3 --address-seed 5", &command).unwrap();
    let first = drawn();
    let (child, own) = first.split_once(' ').unwrap();
    assert_ne!(child, own, "a forked process draws something else");
    assert_eq!(drawn(), first);
}

/// Draws in every way that C++ has, and prints where memory is.
const DRAWS: &str = r#"
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <unistd.h>
int main() {
    std::random_device device, processor("rdrand");
    printf("%u %u ", device(), processor());
    srand(time(nullptr)); printf("%d ", rand());
    srandom(time(nullptr) ^ getpid()); printf("%ld ", random());
    srand48(getpid()); printf("%ld\n", lrand48());
    srand(42); printf("%d\n", rand());
    int on_stack;
    printf("%p %p %p\n", (void *)&on_stack, malloc(10), malloc(1 << 22));
}
"#;

fn drawing_program() -> Sandbox {
    let sandbox = Sandbox::new().file("draws.cpp", DRAWS);
    assert!(sandbox.command("g++").args(["-o", "draws", "draws.cpp"]).status().unwrap().success());
    sandbox
}

fn draws(sandbox: &Sandbox, factors: &str) -> Vec<String> {
    let call = sandbox.unflake(["under"]).args(factors.split(' ')).args(["--", "./draws"]);
    call.finish().expect_exit(0).stdout.lines().map(str::to_owned).collect()
}

#[test]
fn a_random_seed_fixes_what_cpp_draws_and_keeps_seeds_of_the_program() {
    let sandbox = drawing_program();
    let drawn = |seed: u32| draws(&sandbox, &format!("--random-seed {seed}"));
    let (first, other) = (drawn(1), drawn(2));
    assert_eq!(drawn(1)[..2], first[..2]);
    let pairs: Vec<(&str, &str)> = first[0].split(' ').zip(other[0].split(' ')).collect();
    assert_eq!(pairs.len(), 5);
    assert!(pairs.iter().all(|(one, two)| one != two), "{pairs:?}");
    assert_eq!(first[1], other[1], "a seed of the program itself stays");
}

#[test]
fn an_address_seed_fixes_where_memory_is() {
    let sandbox = drawing_program();
    let places = |seed: u32| {
        let lines = draws(&sandbox, &format!("--address-seed {seed}"));
        lines[2].split(' ').map(str::to_owned).collect::<Vec<_>>()
    };
    let all: Vec<Vec<String>> = (0..4).map(places).collect();
    for (seed, places_before) in all.iter().enumerate() {
        assert_eq!(places(seed as u32), *places_before);
    }
    for part in 0..3 {
        let different: std::collections::BTreeSet<&String> = all.iter().map(|one| &one[part]).collect();
        assert!(different.len() > 2, "{all:?}");
    }
    let objects = |seed: u32| stdout_under(&format!("--hash-seed 0 --address-seed {seed}"), "print(id(object()))");
    assert_eq!(objects(1), objects(1));
    assert_ne!(objects(1), objects(2));
}

#[test]
fn one_seed_sets_all_seeds_and_single_ones_override_it() {
    let script = "import random; print(random.random(), list({'a', 'b', 'c', 'd'}), id(object()))";
    let seeded = |options: &str| stdout_under(options, script);
    let first = seeded("--seed 4");
    assert_eq!(seeded("--random-seed 4 --hash-seed 4 --address-seed 4"), first);
    assert_ne!(seeded("--seed 5"), first);
    assert_eq!(seeded("--hash-seed 4 --seed 7 --random-seed 4 --address-seed 4"), first);
}

/// A program that reads a high bit of an address passes under some seeds and fails under others.
#[test]
fn address_seeds_decide_every_bit_that_the_system_draws() {
    let sandbox = drawing_program();
    let places = |seed: u32| -> Vec<u64> {
        let lines = draws(&sandbox, &format!("--address-seed {seed}"));
        let heap_and_mapping = lines[2].split(' ').skip(1);
        heap_and_mapping.map(|place| u64::from_str_radix(place.trim_start_matches("0x"), 16).unwrap()).collect()
    };
    let all: Vec<Vec<u64>> = (1..=16).map(places).collect();
    for part in 0..2 {
        for bit in 12..=32 {
            let set = all.iter().filter(|places| places[part] >> bit & 1 == 1).count();
            assert!((1..16).contains(&set), "bit {bit}: {all:x?}");
        }
    }
}

#[test]
fn a_process_that_limits_its_address_space_has_all_of_it() {
    let script = "
import resource
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
bytearray(100 << 20)
try: bytearray(2 << 30)
except MemoryError: print('limited')
";
    assert_eq!(stdout_under("--address-seed 3", script).trim(), "limited");
    assert_eq!(stdout_under("--address-seed 3 --memory 512M", "print(1)").trim(), "1");
}

#[test]
fn the_system_draws_the_layout_where_the_setting_says_so() {
    let drawn = |_| stdout_under("--seed 4 --address-seed random", "print(id(object()), hash('a'))");
    let all: Vec<String> = (0..4).map(drawn).collect();
    let different = |at: usize| {
        let values = all.iter().map(|one| one.split_whitespace().nth(at));
        values.collect::<std::collections::BTreeSet<_>>().len()
    };
    assert!(different(0) > 1, "{all:?}");
    assert_eq!(different(1), 1, "other seeds stay: {all:?}");
}

/// Connects to itself and to an address that does not exist.
const CONNECT: &str = "
import socket, threading, time
server = socket.socket(); server.bind(('127.0.0.1', 0)); server.listen()
threading.Thread(target=lambda: server.accept()[0].sendall(b'x')).start()
began = time.monotonic()
assert socket.create_connection(server.getsockname()).recv(1) == b'x'
took = time.monotonic() - began
def reach(address):
    try: socket.create_connection((address, 9), 1)
    except OSError as error: return type(error).__name__, error.errno
def send():
    try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))
    except OSError as error: return error.errno
";

#[test]
fn without_a_network_only_loopback_is_reachable() {
    let script =
        format!("{CONNECT}print(reach('192.0.2.1'), reach('::ffff:192.0.2.1'), send(), reach('nowhere.example'))");
    let unreachable = "('OSError', 101) ('OSError', 101) 101 ('gaierror', -3)";
    assert_eq!(stdout_under("--network off", &script), unreachable);
    if nix::unistd::geteuid().is_root() {
        let script = format!("{CONNECT}print(reach('192.0.2.1'), send())");
        assert_eq!(stdout_under("--network alone", &script), "('OSError', 101) 101");
    }
}

#[test]
fn a_slow_network_delays_connections() {
    let took: f64 = stdout_under("--network slow:200ms", &format!("{CONNECT}print(took)")).parse().unwrap();
    // A connect, a send and a receive, of which two may overlap. Without the factor they take less
    // than 1 ms.
    assert!(took >= 0.3, "{took} s");
}

#[test]
fn directory_listings_have_the_requested_order() {
    let mut sandbox = Sandbox::new();
    let names: Vec<String> = (0..40).map(|number| format!("n{:02}", number * 7 % 40)).collect();
    for name in &names {
        sandbox = sandbox.file(&format!("dir/{name}"), "");
    }
    let listed = |order: &str| {
        let script = "import os; a = os.listdir('dir'); b = [e.name for e in os.scandir('dir')]; assert a == b; print(' '.join(a))";
        let result = under(&sandbox, &format!("--listing {order}"), script).finish().expect_exit(0);
        result.stdout.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(listed("sorted"), sorted);
    sorted.reverse();
    assert_eq!(listed("reversed"), sorted);
    let shuffled = listed("shuffled:7");
    assert_eq!(listed("shuffled:7"), shuffled);
    assert_ne!(listed("shuffled:8"), shuffled);
    sorted.sort();
    assert_ne!(shuffled, sorted);
    let mut all = shuffled;
    all.sort();
    assert_eq!(all, sorted, "no entry is lost or repeated");
    // `ls -U` lists the entries unsorted.
    let ls = stdout_of_program(&sandbox, "--listing reversed", &["ls", "-U", "dir"]).unwrap();
    sorted.reverse();
    assert_eq!(ls.split_whitespace().collect::<Vec<_>>(), sorted);
    // Partial reads, repeated reads, and many open directories.
    let script = "import os\n\
                  for _ in range(3): assert len(list(os.scandir('dir'))) == 40\n\
                  kept = [os.scandir('dir') for _ in range(300)]\n\
                  assert all(next(one).name for one in kept)\n\
                  for one in kept: one.close()\n\
                  fd = os.open('dir', os.O_RDONLY); assert os.listdir(fd) == os.listdir(fd)\n\
                  print('all')";
    assert_eq!(under(&sandbox, "--listing shuffled:3", script).finish().expect_exit(0).stdout.trim(), "all");
}

#[test]
fn a_fresh_state_starts_empty_and_is_removed() {
    let sandbox = Sandbox::new();
    let script = "import os, pathlib, tempfile\n\
                  home = pathlib.Path.home(); assert not list(home.iterdir()); (home / '.config').mkdir()\n\
                  assert not os.listdir(tempfile.gettempdir()); assert 'XDG_CACHE_HOME' not in os.environ\n\
                  tempfile.mkdtemp(); print(home)";
    let result = under(&sandbox, "--state fresh", script).finish().expect_exit(0);
    assert!(
        !fs::exists(result.stdout.trim()).unwrap() && result.stdout.contains("unflake-state-"),
        "{}",
        result.stdout
    );
}

#[test]
fn another_interpreter_is_found_by_the_usual_names() {
    let sandbox = Sandbox::new();
    let real = python().to_str().unwrap();
    let words = [
        "under",
        "--interpreter",
        real,
        "--",
        "sh",
        "-c",
        "python -c 'import sys; print(sys.prefix)'; command -v python3",
    ];
    let result = sandbox.unflake(words).finish().expect_exit(0);
    let (prefix, found) = result.stdout.trim().split_once('\n').unwrap();
    assert!(real.starts_with(prefix), "{prefix} is not that of {real}");
    assert!(found.contains("unflake-interpreter-"), "{found}");
}

#[test]
fn the_home_of_a_killed_experiment_is_removed() {
    let sandbox = Sandbox::with_tests(
        "import os, time\n\
         def test_a():\n\
         \x20   if 'unflake-state-' in os.environ['HOME']:\n\
         \x20       open('here', 'w').write(os.environ['HOME'])\n\
         \x20       time.sleep(1000)\n",
    );
    let asked = ["factors", "test_a", "--factor", "state", "--", "python", "-m", "pytest"];
    let running = sandbox.unflake(asked).start();
    let home = running.wait_for("here");
    assert!(fs::exists(&home).unwrap());
    running.signal(Signal::SIGKILL);
    running.finish().expect_exit(-9);
    assert!(!fs::exists(home).unwrap());
}
