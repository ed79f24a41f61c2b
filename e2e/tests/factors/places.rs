//! Zones, locales, seeds, the network, directories, variables, homes, interpreters.

use std::fs;

use e2e::{Story, python};
use nix::sys::signal::Signal;

use crate::{told, told_by, under};

#[test]
fn zone_locale_and_variables_are_set() {
    let script = "import locale, os, time\n\
                  print(time.localtime(1800000000).tm_gmtoff, locale.setlocale(locale.LC_ALL, ''), os.environ.get('NAME'), os.environ.get('GONE'))";
    let story = Story::new();
    let factors = "--time-zone JST-9 --locale POSIX --variable NAME=a=b --variable GONE";
    let ran = under(&story, factors, script).env("GONE", "still here").end().exits(0);
    assert_eq!(ran.stdout.trim(), "32400 C a=b None");
}

#[test]
fn a_hash_seed_makes_hashes_the_same() {
    let hash = |seed: u32| told(&format!("--hash-seed {seed}"), "print(hash('unflake'))");
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
}

#[test]
fn a_random_seed_makes_chance_the_same() {
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
    let drawn = |seed: u64| told(&format!("--random-seed {seed}"), script);
    let first = drawn(u64::MAX);
    assert_eq!(drawn(u64::MAX), first);
    assert_ne!(drawn(1), first);
    let shuffle = "import java.security.*; class Draw { public static void main(String[] words) { System.out.println(new SecureRandom().nextLong()); } }";
    let story = Story::new().with("Draw.java", shuffle);
    let java = || told_by(&story, "--random-seed 7", &["java", "Draw.java"]);
    assert_eq!(java(), java());
}

/// Connects to itself, and to a machine that is nowhere.
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
fn without_a_network_only_this_machine_is_there() {
    let script =
        format!("{CONNECT}print(reach('192.0.2.1'), reach('::ffff:192.0.2.1'), send(), reach('nowhere.example'))");
    let unreachable = "('OSError', 101) ('OSError', 101) 101 ('gaierror', -3)";
    assert_eq!(told("--network off", &script), unreachable);
    if nix::unistd::geteuid().is_root() {
        let script = format!("{CONNECT}print(reach('192.0.2.1'), send())");
        assert_eq!(told("--network alone", &script), "('OSError', 101) 101");
    }
}

#[test]
fn a_slow_network_takes_its_time() {
    let took = |factors: &str| told(factors, &format!("{CONNECT}print(took)")).parse::<f64>().unwrap();
    // A connect, a send and a receive, of which two may overlap.
    let (slow, usual) = (took("--network slow:200ms"), took("--load 1"));
    assert!(slow >= usual + 0.3, "{slow} s, and {usual} s without");
}

#[test]
fn directories_are_listed_in_the_order_asked_for() {
    let mut story = Story::new();
    let names: Vec<String> = (0..40).map(|number| format!("n{:02}", number * 7 % 40)).collect();
    for name in &names {
        story = story.with(&format!("dir/{name}"), "");
    }
    let listed = |order: &str| {
        let script = "import os; a = os.listdir('dir'); b = [e.name for e in os.scandir('dir')]; assert a == b; print(' '.join(a))";
        let ran = under(&story, &format!("--listing {order}"), script).end().exits(0);
        ran.stdout.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
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
    assert_eq!(all, sorted, "nothing is lost, nothing comes twice");
    // `ls` goes through the same entries and is told not to sort.
    let ls = told_by(&story, "--listing reversed", &["ls", "-U", "dir"]).unwrap();
    sorted.reverse();
    assert_eq!(ls.split_whitespace().collect::<Vec<_>>(), sorted);
    // Read in part, from the beginning again, many at a time.
    let script = "import os\n\
                  for _ in range(3): assert len(list(os.scandir('dir'))) == 40\n\
                  kept = [os.scandir('dir') for _ in range(300)]\n\
                  assert all(next(one).name for one in kept)\n\
                  for one in kept: one.close()\n\
                  fd = os.open('dir', os.O_RDONLY); assert os.listdir(fd) == os.listdir(fd)\n\
                  print('all')";
    assert_eq!(under(&story, "--listing shuffled:3", script).end().exits(0).stdout.trim(), "all");
}

#[test]
fn a_fresh_state_is_empty_and_gone_afterwards() {
    let story = Story::new();
    let script = "import os, pathlib, tempfile\n\
                  home = pathlib.Path.home(); assert not list(home.iterdir()); (home / '.config').mkdir()\n\
                  assert not os.listdir(tempfile.gettempdir()); assert 'XDG_CACHE_HOME' not in os.environ\n\
                  tempfile.mkdtemp(); print(home)";
    let ran = under(&story, "--state fresh", script).end().exits(0);
    assert!(!fs::exists(ran.stdout.trim()).unwrap() && ran.stdout.contains("unflake-state-"), "{}", ran.stdout);
}

#[test]
fn another_interpreter_answers_to_the_usual_names() {
    let story = Story::new();
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
    let ran = story.unflake(words).end().exits(0);
    let (prefix, found) = ran.stdout.trim().split_once('\n').unwrap();
    assert!(real.starts_with(prefix), "{prefix} is not that of {real}");
    assert!(found.contains("unflake-interpreter-"), "{found}");
}

#[test]
fn a_home_of_a_world_is_gone_when_the_experiment_is_killed() {
    let story = Story::of(
        "import os, time\n\
         def test_a():\n\
         \x20   if 'unflake-state-' in os.environ['HOME']:\n\
         \x20       open('here', 'w').write(os.environ['HOME'])\n\
         \x20       time.sleep(1000)\n",
    );
    let asked = ["factors", "test_a", "--factor", "state", "--", "python", "-m", "pytest"];
    let running = story.unflake(asked).start();
    let home = running.wait_for("here");
    assert!(fs::exists(&home).unwrap());
    running.signal(Signal::SIGKILL);
    running.end().exits(-9);
    assert!(!fs::exists(home).unwrap());
}
