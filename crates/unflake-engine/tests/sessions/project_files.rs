//! Compared sessions find the same project files.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::NamedTest;
use crate::project::{EngineProject, comes_true};

pub(crate) const TESTS: &[NamedTest] = &[
    ("changes_of_a_session_are_restored", changes_of_a_session_are_restored),
    ("changes_between_sessions_are_kept", changes_between_sessions_are_kept),
    ("overlapping_sessions_are_repeated", overlapping_sessions_are_repeated),
    ("files_are_part_of_a_shared_state", files_are_part_of_a_shared_state),
    ("an_interrupt_restores_files", an_interrupt_restores_files),
    ("supervisors_restore_files_when_unflake_is_killed", supervisors_restore_files_when_unflake_is_killed),
    ("a_panic_restores_files", a_panic_restores_files),
    ("changes_of_pytest_tests_are_restored", changes_of_pytest_tests_are_restored),
];

fn files() -> Value {
    json!({
        "write": ["write new.txt one"], "change": ["write data.txt two"], "has": ["read new.txt one"],
        "not": ["missing new.txt"], "same": ["read data.txt one"], "slow": ["sleep 0.3"], "nothing": [], "long": ["sleep 5"],
    })
}

fn changes_of_a_session_are_restored() {
    let mut project = EngineProject::scripted(files(), 1);
    let data = project.path("data.txt");
    fs::write(&data, "one").unwrap();
    fs::set_permissions(&data, fs::Permissions::from_mode(0o640)).unwrap();
    let modified = SystemTime::now() - Duration::from_secs(1000);
    fs::File::open(&data).unwrap().set_modified(modified).unwrap();

    project.run(&["write has", "not same", "change", "not same"]);
    assert_eq!(
        project.attempts(),
        [
            "0 write passed 0",
            "0 has passed 1",
            "1 not passed 0",
            "1 same passed 1",
            "2 change passed 0",
            "3 not passed 0",
            "3 same passed 1",
        ]
    );
    let metadata = data.metadata().unwrap();
    assert_eq!((metadata.modified().unwrap(), metadata.permissions().mode() & 0o777), (modified, 0o640));
    assert!(!project.path("new.txt").exists());
    project.close();
    assert_eq!(project.backups(), ["data.txt: two", "new.txt: one"]);
    let note = project.notes().join("\n");
    assert!(
        note.starts_with("files that changed while tests ran were restored: data.txt, new.txt; their contents"),
        "{note}"
    );
}

fn changes_between_sessions_are_kept() {
    let mut project = EngineProject::scripted(files(), 1);
    fs::write(project.path("data.txt"), "zero").unwrap();
    project.run(&["write"]);
    fs::write(project.path("data.txt"), "one").unwrap();
    fs::write(project.path("mine.txt"), "mine").unwrap();
    project.run(&["same", "change", "same"]);
    assert_eq!(project.ends().len(), 4);
    assert!(project.attempts().iter().all(|one| one.contains("passed")), "{:?}", project.attempts());
    assert_eq!(fs::read_to_string(project.path("data.txt")).unwrap(), "one");
    assert_eq!(fs::read_to_string(project.path("mine.txt")).unwrap(), "mine");
    project.close();
}

fn overlapping_sessions_are_repeated() {
    let mut project = EngineProject::scripted(files(), 3);
    project.run(&["write slow", "slow not", "slow not slow", "not", "write slow has", "not"]);
    assert_eq!(
        project.attempts(),
        [
            "0 write passed 0",
            "0 slow passed 1",
            "1 slow passed 0",
            "1 not passed 1",
            "2 slow passed 0",
            "2 not passed 1",
            "2 slow passed 2",
            "3 not passed 0",
            "4 write passed 0",
            "4 slow passed 1",
            "4 has passed 2",
            "5 not passed 0",
        ]
    );
    assert_eq!(project.ends().len(), 6);
    assert!(project.notes()[0].starts_with("tests write files that outlive them"), "{:?}", project.notes());
    project.close();
}

fn files_are_part_of_a_shared_state() {
    let mut project = EngineProject::scripted(files(), 2);
    project.run(&["write | has", "write | has", "write nothing | has", "nothing | not", "nothing | not"]);
    let attempts = project.attempts();
    assert!(attempts.iter().all(|one| one.contains("passed")), "{attempts:?}");
    assert_eq!(project.ends(), ["0 [] ", "1 [] ", "2 [] ", "3 [] ", "4 [] "]);
    assert!(!project.path("new.txt").exists());
    project.close();
}

fn an_interrupt_restores_files() {
    let mut project = EngineProject::scripted(files(), 1);
    let (interrupter, new) = (project.engine().interrupter(), project.path("new.txt"));
    let written = std::thread::spawn(move || {
        let written = comes_true(|| new.exists());
        interrupter.interrupt();
        written
    });
    project.run(&["write long"]);
    assert!(written.join().unwrap());
    assert!(project.ends()[0].ends_with("interrupted"), "{:?}", project.ends());
    assert!(!project.path("new.txt").exists());
    project.close();
}

fn a_panic_restores_files() {
    let mut project = EngineProject::scripted(files(), 1);
    let new = project.path("new.txt");
    let sessions = project.sessions(vec![("write long", None)]);
    let mut engine = project.engine.take().unwrap();
    let result = panic::catch_unwind(AssertUnwindSafe(|| {
        engine.run(sessions, &mut |_| assert!(!new.exists(), "this is the panic"));
    }));
    assert!(result.is_err() && new.exists());
    drop(engine);
    assert!(!new.exists());
}

const PYTEST: &str = "
import os

def test_once():
    assert not os.path.exists('cache/state')
    os.makedirs('cache')
    open('cache/state', 'w').close()

def test_sound(): pass
";

fn changes_of_pytest_tests_are_restored() {
    let mut project = EngineProject::of_pytest(PYTEST, 2);
    let (once, sound) = ("test_it.py::test_once", "test_it.py::test_sound");
    let twice = format!("{once} {once}");
    project.run(&[&twice, &twice, sound, &twice, sound]);
    let failed = project.attempts().iter().filter(|one| one.contains("test_once failed 1")).count();
    assert_eq!((failed, project.attempts().len()), (3, 8), "{:?}", project.attempts());
    assert!(!project.path("cache").exists());
    project.close();
}

/// The process that the test below kills: a session that has written files and continues. Prints
/// the project directory.
pub(crate) fn write_and_continue() {
    let mut project = EngineProject::scripted(files(), 1);
    fs::write(project.path("data.txt"), "one").unwrap();
    println!("{}", project.path("").display());
    project.run(&["change write long"]);
}

fn supervisors_restore_files_when_unflake_is_killed() {
    let place = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("write-and-continue").env("TMPDIR", place.path()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut project = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut project).unwrap();
    let project = PathBuf::from(project.trim());
    let (new, data) = (project.join("new.txt"), project.join("data.txt"));
    assert!(comes_true(|| new.exists()), "the session did not begin");
    child.kill().unwrap();
    child.wait().unwrap();
    let is_restored = || !new.exists() && fs::read_to_string(&data).is_ok_and(|text| text == "one");
    assert!(comes_true(is_restored), "files are as the tests left them");
    let is_of_run = |entry: fs::DirEntry| entry.file_name().to_string_lossy().starts_with("unflake-");
    let is_clean = || !fs::read_dir(place.path()).unwrap().flatten().any(is_of_run);
    assert!(comes_true(is_clean), "the directory of the run is left");
}
