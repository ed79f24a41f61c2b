//! Rust projects, built by cargo as users have them, traced on stable.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use support::{TestDirectory, assert_lines_exist, lines, marked, short, succeed, text, traced};
use unflake_observe::trace::{
    Depends, ExecutedCode, Instrumented, Limits, Project, Symboliser, TraceRuntime, TracedAttempt, TruncationReason,
    instrumented,
};
use unflake_runners::traced_builds::{cargo_variables, wrapper_link};

/// A workspace with all that stands in the way: a build script and a macro that use a library which is also traced, a
/// dependency outside the workspace with a generic function, a program that a test starts.
struct Workspace {
    place: TestDirectory,
    root: PathBuf,
    /// The unit tests of `app`, and its integration test.
    unit: PathBuf,
    integration: PathBuf,
    /// Output of cargo at the plain, traced, plain and traced builds.
    output: [String; 4],
}

impl Workspace {
    fn project(&self) -> Project {
        Project::new(&self.root).without("dependency").tool_homes(unflake_runners::tool_homes())
    }

    fn unit_test(&self, name: &str, attempt: &str) -> Command {
        self.test(&self.unit, &format!("tests::{name}"), attempt, Limits::default())
    }

    fn test(&self, program: &Path, name: &str, attempt: &str, limits: Limits) -> Command {
        let mut command = traced(program, &self.place.attempt(attempt), limits);
        command.args(["--exact", name, "--include-ignored"]);
        command
    }
}

fn cargo(place: &TestDirectory, root: &PathBuf, traced: bool, arguments: &[&str]) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--no-run", "--offline", "--tests"]).args(arguments).current_dir(root);
    for name in ["CARGO_TARGET_DIR", "RUSTFLAGS", "RUSTC_WORKSPACE_WRAPPER", "CARGO_BUILD_BUILD_DIR"] {
        cargo.env_remove(name);
    }
    if traced {
        let wrapper = wrapper_link(&place.runtime, env!("CARGO_BIN_EXE_unflake-traced-rustc").as_ref()).unwrap();
        cargo.envs(cargo_variables(&place.runtime, &wrapper, &root.join("target"), None));
    }
    cargo
}

fn executables(output: &str) -> Vec<PathBuf> {
    let output = output.lines().filter(|line| line.trim_start().starts_with("Executable"));
    output.filter_map(|line| Some(line.split_once('(')?.1.trim_end_matches(')').into())).collect()
}

fn workspace() -> &'static Workspace {
    static WORKSPACE: OnceLock<Workspace> = OnceLock::new();
    WORKSPACE.get_or_init(|| {
        let place = TestDirectory::new("rust");
        for (path, text) in FILES {
            place.write(&format!("project/{path}"), text);
        }
        let root = place.root.join("project");
        let output = [false, true, false, true].map(|traced| text(&succeed(&mut cargo(&place, &root, traced, &[]))));
        let built = executables(&output[3]);
        let find = |start: &str| {
            let starts = |path: &&PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(start);
            root.join(built.iter().find(starts).unwrap_or_else(|| panic!("{output:?}")))
        };
        let (unit, integration) = (find("app-"), find("integration-"));
        Workspace { place, root, unit, integration, output }
    })
}

#[test]
fn plain_and_traced_builds_leave_each_other_alone() {
    let workspace = workspace();
    let compiled = |at: usize| {
        let lines = workspace.output[at].lines().filter_map(|line| line.trim().strip_prefix("Compiling "));
        let mut names: Vec<_> = lines.map(|line| line.split(' ').next().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(compiled(0), ["app", "dependency", "library", "macros"]);
    assert_eq!(compiled(1), ["app", "library", "macros"], "a dependency is built once for both");
    assert_eq!(compiled(2), [""; 0]);
    assert_eq!(compiled(3), [""; 0]);
    let plain = workspace.root.join("target/debug/app");
    assert_eq!(instrumented(&plain), Ok(Instrumented::No), "the user's own program stays as it was");
    assert_eq!(instrumented(&workspace.root.join("target/unflake/debug/app")), Ok(Instrumented::Guards));
    assert_eq!(instrumented(&workspace.unit), Ok(Instrumented::Guards));
}

#[test]
fn threads_give_the_same_trace_each_time() {
    let workspace = workspace();
    let mut first = None;
    for time in 0..20 {
        let name = format!("threads-{time}");
        succeed(&mut workspace.unit_test("threads", &name));
        let attempt = workspace.place.read(&workspace.place.attempt(&name));
        let lines = lines(&attempt, &workspace.project());
        let first = first.get_or_insert_with(|| lines.clone());
        assert_eq!(first, &lines, "run {time} differs");
        assert!(attempt.threads().all(|(_, thread)| thread.head.truncated.is_none()));
        // Those that are waited for to their very end: a scope waits for the closures only, and the process may be faster.
        let joined = attempt.threads().filter(|(_, thread)| ["main.0.0", "main.0.1"].contains(&&thread.key[..]));
        assert!(joined.inspect(|(_, thread)| assert!(thread.head.ended, "{}", thread.key)).count() == 2);
        let mut named: Vec<_> = attempt.threads().map(|(_, thread)| (&thread.key[..], &thread.head.name[..])).collect();
        named.sort();
        let keys: Vec<_> = named.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, ["main", "main.0", "main.0.0", "main.0.1", "main.0.2", "main.0.3"], "{named:?}");
        assert_eq!((named[1].1, named[2].1), ("tests::threads", "producer"));
    }
    let first = first.unwrap();
    let sent = marked(&workspace.root, "app/src/lib.rs", "sent");
    assert_eq!(short(&first["main.0.0"]).iter().filter(|line| **line == sent).count(), 5);
    let worked = marked(&workspace.root, "app/src/lib.rs", "worked");
    assert!(short(&first["main.0.3"]).contains(&worked), "{first:#?}");
}

#[test]
fn only_the_projects_own_lines_are_shown_and_all_exist() {
    let workspace = workspace();
    succeed(&mut workspace.unit_test("generic", "generic"));
    let attempt = workspace.place.read(&workspace.place.attempt("generic"));
    assert!(assert_lines_exist(&attempt, &workspace.project(), &workspace.root) > 10);
    let all: Vec<_> = lines(&attempt, &workspace.project()).into_values().flatten().collect();
    assert!(all.iter().all(|line| line.file.starts_with("app") || line.file.starts_with("library")), "{all:#?}");
    let of_dependency = attempt.processes[0].places().unwrap();
    let generic = of_dependency.iter().any(|(_, place)| place.iter().any(|frame| frame.file.contains("/dependency/")));
    assert!(generic, "generic code of the dependency is compiled into the project and traced with it");
    let closure = marked(&workspace.root, "app/src/lib.rs", "closure");
    assert!(short(&all).contains(&closure), "what the dependency calls back is shown");

    let executed = ExecutedCode::of(&attempt, &workspace.project());
    let files: Vec<_> = executed.files.iter().map(|file| file.to_str().unwrap()).collect();
    assert_eq!((files, executed.gaps), (vec!["app/src/lib.rs", "library/src/lib.rs"], vec![]));
}

#[test]
fn from_the_second_run_on_only_own_places_are_traced() {
    let workspace = workspace();
    succeed(&mut workspace.unit_test("threads", "own-1"));
    let first = workspace.place.read(&workspace.place.attempt("own-1"));
    let own = workspace.place.root.join("own");
    Symboliser::new(&workspace.place.cache()).own(&first, &workspace.project(), &own).unwrap();
    succeed(workspace.unit_test("threads", "own-2").env("UNFLAKE_TRACE_OWN", &own));
    let second = workspace.place.read(&workspace.place.attempt("own-2"));
    let first_lines = lines(&first, &workspace.project());
    let mut second_lines = lines(&second, &workspace.project());
    // The first thread runs nothing of the project but the harness: it need not be there.
    second_lines.entry("main".to_owned()).or_default();
    assert_eq!(first_lines, second_lines);
    let events =
        |attempt: &TracedAttempt| attempt.threads().map(|(_, one)| one.places().unwrap().count()).sum::<usize>();
    assert!(events(&second) * 2 < events(&first), "{} {}", events(&second), events(&first));
    let executed = [&first, &second].map(|attempt| ExecutedCode::of(attempt, &workspace.project()));
    assert_eq!(executed[0], executed[1]);
}

#[test]
fn a_release_build_shows_what_was_inlined() {
    let workspace = workspace();
    let mut cargo = cargo(&workspace.place, &workspace.root, true, &["--release", "-p", "app", "--lib"]);
    // The user's own flags hold too: the test is there only with them.
    let output = text(&succeed(cargo.env("RUSTFLAGS", "--cfg extra")));
    let unit = workspace.root.join(&executables(&output)[0]);
    succeed(&mut workspace.test(&unit, "tests::extra", "release", Limits::default()));
    let attempt = workspace.place.read(&workspace.place.attempt("release"));
    assert!(assert_lines_exist(&attempt, &workspace.project(), &workspace.root) > 5);
    let places = attempt.processes[0].places().unwrap();
    assert_eq!(places.notes, [""; 0]);
    let own = |file: &str| workspace.project().own(file).is_some();
    let inlined = places.iter().any(|(_, place)| {
        place.len() > 1 && place.iter().any(|frame| own(&frame.file)) && place.iter().any(|frame| !own(&frame.file))
    });
    assert!(inlined, "{places:#?}");
    let all: Vec<_> = lines(&attempt, &workspace.project()).into_values().flatten().collect();
    assert!(short(&all).contains(&marked(&workspace.root, "app/src/lib.rs", "sorted")), "{all:#?}");
}

#[test]
fn a_crash_and_a_kill_lose_nothing() {
    let workspace = workspace();
    let output = workspace.unit_test("aborts", "aborts").output().unwrap();
    assert!(!output.status.success());
    let attempt = workspace.place.read(&workspace.place.attempt("aborts"));
    let before = &lines(&attempt, &workspace.project())["main.0"];
    let last = marked(&workspace.root, "app/src/lib.rs", "aborts");
    assert_eq!(short(before).last(), Some(&last), "{before:#?}");
    assert!(attempt.threads().all(|(_, thread)| !thread.head.ended));

    let mut hung = workspace.unit_test("hangs", "hangs").stdout(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    let last = marked(&workspace.root, "app/src/lib.rs", "hangs");
    // The file says that it is near, and its trace that it is there.
    let is_there = || {
        let near = workspace.root.join("hung").exists();
        near && {
            // A table that was made too early does not have the place yet.
            for part in std::fs::read_dir(workspace.place.attempt("hangs")).unwrap() {
                let _ = std::fs::remove_file(part.unwrap().path().join("places"));
            }
            let attempt = workspace.place.read(&workspace.place.attempt("hangs"));
            short(&lines(&attempt, &workspace.project())["main.0"]).contains(&last)
        }
    };
    while !is_there() {
        assert!(Instant::now() < until, "the test never came to where it hangs");
        std::thread::sleep(Duration::from_millis(10));
    }
    hung.kill().unwrap();
    hung.wait().unwrap();
    let attempt = workspace.place.read(&workspace.place.attempt("hangs"));
    assert_eq!(short(&lines(&attempt, &workspace.project())["main.0"]).last(), Some(&last));
}

#[test]
fn limits_end_in_truncated_here() {
    let workspace = workspace();
    let whole = Limits::default();
    succeed(&mut workspace.test(&workspace.unit, "tests::long", "long", whole));
    let attempt = workspace.place.read(&workspace.place.attempt("long"));
    let ids = |attempt: &TracedAttempt| {
        let (_, thread) = attempt.threads().find(|(_, thread)| thread.key == "main.0").unwrap();
        (thread.places().unwrap().map(Result::unwrap).collect::<Vec<_>>(), thread.head.truncated.clone())
    };
    let (all, truncated) = ids(&attempt);
    assert!(all.len() > 100_000 && truncated.is_none(), "{} {truncated:?}", all.len());

    // One limit inside the first piece of the file, one at its end, one in a later piece.
    for limit in [1000, 16_320, 90_000] {
        let name = format!("long-{limit}");
        let limits = Limits { thread: limit as u64, ..whole };
        succeed(&mut workspace.test(&workspace.unit, "tests::long", &name, limits));
        let attempt = workspace.place.read(&workspace.place.attempt(&name));
        let (kept, truncated) = ids(&attempt);
        let truncated = truncated.unwrap();
        assert_eq!(kept, all[..limit]);
        assert_eq!((truncated.why, truncated.dropped as usize), (TruncationReason::ThreadLimit, all.len() - limit));
        let executed = ExecutedCode::of(&attempt, &workspace.project());
        assert!(executed.gaps.iter().any(|gap| gap.contains("limit of a thread")), "{executed:?}");
        assert!(!executed.is_complete());
    }
    let limits = Limits { attempt: 40_000, ..whole };
    succeed(&mut workspace.test(&workspace.unit, "tests::long", "long-attempt", limits));
    let (kept, truncated) = ids(&workspace.place.read(&workspace.place.attempt("long-attempt")));
    assert!(all.starts_with(&kept) && !kept.is_empty() && kept.len() <= 40_000);
    let truncated = truncated.unwrap();
    assert_eq!((truncated.why, truncated.dropped as usize), (TruncationReason::AttemptLimit, all.len() - kept.len()));
}

#[test]
fn a_program_that_the_test_starts_is_part_of_the_attempt() {
    let workspace = workspace();
    succeed(&mut workspace.test(&workspace.integration, "runs", "started", Limits::default()));
    let attempt = workspace.place.read(&workspace.place.attempt("started"));
    let keys: Vec<_> = attempt.processes.iter().map(|process| &process.key[..]).collect();
    assert_eq!(keys, ["", "/started app", "/started app 1"]);
    let files = ExecutedCode::of(&attempt, &workspace.project()).files;
    assert!(files.contains(&PathBuf::from("app/src/main.rs")), "{files:?}");
    assert!(files.contains(&PathBuf::from("app/tests/integration.rs")), "{files:?}");
}

#[test]
fn the_files_that_a_test_reaches_for_are_dependencies() {
    let workspace = workspace();
    workspace.place.write("project/data/prices.txt", "3");
    succeed(workspace.unit_test("files", "files").current_dir(&workspace.root));
    let attempt = workspace.place.read(&workspace.place.attempt("files"));
    let depends = Depends::of(&attempt, &workspace.project());
    let paths = |paths: &std::collections::BTreeSet<PathBuf>| {
        paths.iter().map(|path| path.to_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(paths(&depends.read), ["data/prices.txt"]);
    assert_eq!(paths(&depends.seen), ["Cargo.toml", "app"]);
    assert_eq!(paths(&depends.missed), ["data/missing.txt", "data/none"]);
    assert_eq!(paths(&depends.listed), ["data"]);
    assert_eq!(paths(&depends.written), ["data/copy.txt"]);
    // Both ways of the standard library: by itself, and by a copy of the process.
    assert_eq!(depends.programs.len(), 2, "{depends:#?}");
    assert!(depends.gaps.iter().all(|gap| gap.contains("/sh: ") || gap.contains("/true: ")), "{:#?}", depends.gaps);
    assert_eq!(depends.gaps.len(), 2);

    succeed(&mut workspace.test(&workspace.integration, "runs", "started-files", Limits::default()));
    let attempt = workspace.place.read(&workspace.place.attempt("started-files"));
    let depends = Depends::of(&attempt, &workspace.project());
    assert_eq!((depends.programs.len(), depends.gaps), (1, vec![]), "a program that is traced is no gap");
}

#[test]
fn several_at_once_do_not_meet() {
    let workspace = workspace();
    let start = |_| workspace.unit_test("threads", "at-once").stdout(Stdio::null()).spawn().unwrap();
    let started: Vec<_> = (0..4).map(start).collect();
    for mut one in started {
        assert!(one.wait().unwrap().success());
    }
    let attempt = workspace.place.read(&workspace.place.attempt("at-once"));
    assert_eq!(attempt.processes.len(), 4);
    let all: Vec<Vec<_>> = attempt
        .processes
        .iter()
        .map(|process| process.threads.iter().map(|thread| thread.places().unwrap().count()).collect())
        .collect();
    assert!(all.iter().all(|counts| counts.len() == 6), "{all:?}");

    let cache = workspace.place.root.join("cache-at-once");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| TraceRuntime::lay_out(&cache).unwrap());
        }
    });
    let runtime = TraceRuntime::lay_out(&cache).unwrap();
    assert_eq!(std::fs::read_dir(runtime.directory()).unwrap().count(), 1, "nothing is left lying around");
}

#[test]
fn without_the_variable_nothing_happens() {
    let workspace = workspace();
    let directory = workspace.place.root.join("off");
    std::fs::create_dir_all(&directory).unwrap();
    succeed(Command::new(&workspace.unit).args(["--exact", "tests::threads"]).current_dir(&directory));
    succeed(Command::new(&workspace.unit).args(["--exact", "tests::threads"]).env("UNFLAKE_TRACE", ""));
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
    // Nor does a directory that cannot be made harm the test.
    succeed(Command::new(&workspace.unit).args(["--exact", "tests::threads"]).env("UNFLAKE_TRACE", "/proc/none/such"));
}

#[test]
fn a_binary_is_symbolised_once() {
    let workspace = workspace();
    for name in ["once-1", "once-2", "once-3"] {
        succeed(&mut workspace.unit_test("generic", name));
    }
    let cache = workspace.place.root.join("cache-once");
    let open = |name: &str| TracedAttempt::open(&workspace.place.attempt(name)).unwrap();
    let first = open("once-1");
    Symboliser::new(&cache).symbolise(&first).unwrap();
    let table = std::fs::read_dir(&cache).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&table).unwrap();
    std::fs::write(&table, text.replace("app::total", "app::remembered")).unwrap();
    let second = open("once-2");
    Symboliser::new(&cache).symbolise(&second).unwrap();
    let functions = |attempt: &TracedAttempt| {
        let places = attempt.processes[0].places().unwrap();
        let mut all: Vec<_> =
            places.iter().flat_map(|(_, place)| place.to_vec()).map(|frame| frame.function.to_string()).collect();
        all.sort();
        all
    };
    assert!(functions(&first).contains(&"app::total".to_owned()), "{:?}", functions(&first));
    assert!(functions(&second).contains(&"app::remembered".to_owned()), "{:?}", functions(&second));
    // A binary that is no longer what ran is not asked.
    let moved = workspace.place.root.join("moved");
    std::fs::copy(&workspace.unit, &moved).unwrap();
    succeed(&mut workspace.test(&moved, "tests::generic", "moved", Limits::default()));
    std::fs::OpenOptions::new().append(true).open(&moved).unwrap().set_len(100_000).unwrap();
    let attempt = workspace.place.read(&workspace.place.attempt("moved"));
    let executed = ExecutedCode::of(&attempt, &workspace.project());
    assert!(executed.files.is_empty());
    assert!(executed.gaps.iter().any(|gap| gap.contains("changed since the run")), "{:?}", executed.gaps);
}

const FILES: [(&str, &str); 12] = [
    (
        "Cargo.toml",
        "[workspace]\nresolver = \"2\"\nmembers = [\"app\", \"library\", \"macros\"]\nexclude = [\"dependency\"]\n",
    ),
    (
        "app/Cargo.toml",
        r#"[package]
name = "app"
version = "0.1.0"
edition = "2021"
[lints.rust]
unexpected_cfgs = "allow"
[dependencies]
dependency = { path = "../dependency" }
library = { path = "../library" }
macros = { path = "../macros" }
[build-dependencies]
library = { path = "../library" }
"#,
    ),
    ("app/build.rs", "fn main() { println!(\"cargo:rustc-env=ANSWER={}\", library::twice(21)); }\n"),
    ("app/src/main.rs", "fn main() {\n    println!(\"{}\", app::total(3));\n}\n"),
    ("app/src/lib.rs", LIB),
    (
        "app/tests/integration.rs",
        r#"#[test]
fn runs() {
    for _ in 0..2 {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_app")).output().unwrap();
        assert_eq!(output.stdout, b"8\n");
    }
}
"#,
    ),
    ("library/Cargo.toml", "[package]\nname = \"library\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
    ("library/src/lib.rs", "pub fn twice(x: u32) -> u32 {\n    x * 2\n}\n"),
    (
        "macros/Cargo.toml",
        r#"[package]
name = "macros"
version = "0.1.0"
edition = "2021"
[lib]
proc-macro = true
[dependencies]
library = { path = "../library" }
"#,
    ),
    (
        "macros/src/lib.rs",
        "#[proc_macro]\npub fn four(_: proc_macro::TokenStream) -> proc_macro::TokenStream {\n    library::twice(2).to_string().parse().unwrap()\n}\n",
    ),
    ("dependency/Cargo.toml", "[package]\nname = \"dependency\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
    (
        "dependency/src/lib.rs",
        "pub fn apply<T>(x: T, f: impl Fn(T) -> T) -> T {\n    let y = f(x);\n    if std::mem::size_of::<T>() > 0 {\n        return y;\n    }\n    f(y)\n}\n",
    ),
];

const LIB: &str = r#"pub fn total(n: u32) -> u32 {
    let mut sum = macros::four!();
    for i in 0..n {
        if i % 2 == 0 {
            sum += dependency::apply(i, |x| library::twice(x)); // closure
        }
    }
    sum
}

pub fn ranked(mut all: Vec<u64>) -> Vec<u64> {
    all.retain(|one| one % 3 != 0); // kept
    all.iter().rev().map(|one| one + 1).collect() // sorted
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    #[test]
    fn threads() {
        assert_eq!(env!("ANSWER"), "42");
        let (send, receive) = channel();
        let producer = std::thread::Builder::new().name("producer".into()).spawn(move || {
            for i in 0..5 {
                send.send(super::total(i)).unwrap(); // sent
            }
        });
        let consumer = std::thread::spawn(move || {
            let mut sum = 0;
            for one in receive {
                if one % 2 == 0 {
                    sum += one;
                }
            }
            sum
        });
        producer.unwrap().join().unwrap();
        assert_eq!(consumer.join().unwrap(), 28);
        let mut halves = [1, 2];
        std::thread::scope(|scope| {
            for half in &mut halves {
                scope.spawn(move || *half = super::total(*half)); // worked
            }
        });
        assert_eq!(halves, [4, 4]);
    }

    #[test]
    fn generic() {
        assert_eq!(super::total(4), 8);
    }

    #[test]
    fn long() {
        let mut sum = 0;
        for i in 0..20_000 {
            sum += super::total(i % 5);
        }
        assert!(sum > 0);
    }

    #[cfg(extra)]
    #[test]
    fn extra() {
        assert_eq!(super::ranked(vec![3, 1, 2]), [3, 2]);
    }

    #[test]
    fn files() {
        use std::os::unix::process::CommandExt;
        use std::process::Command;
        assert!(std::fs::read("data/missing.txt").is_err());
        assert!(!std::path::Path::new("data/none").exists());
        assert!(std::fs::metadata("Cargo.toml").is_ok());
        assert!(std::fs::canonicalize("app").is_ok());
        assert!(std::fs::copy("data/prices.txt", "data/copy.txt").is_ok());
        assert!(std::fs::read_dir("data").unwrap().count() > 1);
        std::fs::remove_file("data/copy.txt").unwrap();
        assert!(Command::new("sh").args(["-c", ":"]).status().unwrap().success());
        let mut copied = Command::new("true");
        unsafe { copied.pre_exec(|| Ok(())) };
        assert!(copied.status().unwrap().success());
    }

    #[test]
    #[ignore]
    fn aborts() {
        if super::total(2) > 0 {
            std::process::abort(); // aborts
        }
    }

    #[test]
    #[ignore]
    fn hangs() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/../hung"), "").unwrap();
        loop {
            std::thread::sleep(std::time::Duration::from_millis(20)); // hangs
        }
    }
}
"#;
