//! Sessions that are compared find the same files.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::Story;
use crate::world::{World, comes_true};

pub(crate) const STORIES: &[Story] = &[
    ("what_a_session_changes_is_put_back", what_a_session_changes_is_put_back),
    ("what_a_person_changes_between_sessions_stays", what_a_person_changes_between_sessions_stays),
    ("sessions_that_were_in_each_others_way_are_repeated", sessions_that_were_in_each_others_way_are_repeated),
    ("files_belong_to_a_state", files_belong_to_a_state),
    ("an_interrupt_puts_files_back_too", an_interrupt_puts_files_back_too),
    ("when_unflake_is_killed_its_keepers_put_files_back", when_unflake_is_killed_its_keepers_put_files_back),
    ("trouble_inside_unflake_puts_files_back_too", trouble_inside_unflake_puts_files_back_too),
    ("with_pytest_files_are_put_back", with_pytest_files_are_put_back),
];

fn files() -> Value {
    json!({
        "write": ["write new.txt one"], "change": ["write data.txt two"], "has": ["read new.txt one"],
        "not": ["missing new.txt"], "same": ["read data.txt one"], "slow": ["sleep 0.3"], "nothing": [], "long": ["sleep 5"],
    })
}

fn what_a_session_changes_is_put_back() {
    let mut world = World::of_cells(files(), 1);
    let data = world.path("data.txt");
    fs::write(&data, "one").unwrap();
    fs::set_permissions(&data, fs::Permissions::from_mode(0o640)).unwrap();
    let modified = SystemTime::now() - Duration::from_secs(1000);
    fs::File::open(&data).unwrap().set_modified(modified).unwrap();

    world.run(&["write has", "not same", "change", "not same"]);
    assert_eq!(
        world.attempts(),
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
    let facts = data.metadata().unwrap();
    assert_eq!((facts.modified().unwrap(), facts.permissions().mode() & 0o777), (modified, 0o640));
    assert!(!world.path("new.txt").exists());
    world.close();
    assert_eq!(world.displaced(), ["data.txt: two", "new.txt: one"]);
    let note = world.notes().join("\n");
    assert!(
        note.starts_with("files that changed while tests ran were put back: data.txt, new.txt; what was"),
        "{note}"
    );
}

fn what_a_person_changes_between_sessions_stays() {
    let mut world = World::of_cells(files(), 1);
    fs::write(world.path("data.txt"), "zero").unwrap();
    world.run(&["write"]);
    fs::write(world.path("data.txt"), "one").unwrap();
    fs::write(world.path("mine.txt"), "mine").unwrap();
    world.run(&["same", "change", "same"]);
    assert_eq!(world.ends().len(), 4);
    assert!(world.attempts().iter().all(|one| one.contains("passed")), "{:?}", world.attempts());
    assert_eq!(fs::read_to_string(world.path("data.txt")).unwrap(), "one");
    assert_eq!(fs::read_to_string(world.path("mine.txt")).unwrap(), "mine");
    world.close();
}

fn sessions_that_were_in_each_others_way_are_repeated() {
    let mut world = World::of_cells(files(), 3);
    world.run(&["write slow", "slow not", "slow not slow", "not", "write slow has", "not"]);
    assert_eq!(
        world.attempts(),
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
    assert_eq!(world.ends().len(), 6);
    assert!(world.notes()[0].starts_with("tests write files into the project"), "{:?}", world.notes());
    world.close();
}

fn files_belong_to_a_state() {
    let mut world = World::of_cells(files(), 2);
    world.run(&["write | has", "write | has", "write nothing | has", "nothing | not", "nothing | not"]);
    let attempts = world.attempts();
    assert!(attempts.iter().all(|one| one.contains("passed")), "{attempts:?}");
    assert_eq!(world.ends(), ["0 [] ", "1 [] ", "2 [] ", "3 [] ", "4 [] "]);
    assert!(!world.path("new.txt").exists());
    world.close();
}

fn an_interrupt_puts_files_back_too() {
    let mut world = World::of_cells(files(), 1);
    let (interrupter, new) = (world.exec().interrupter(), world.path("new.txt"));
    let written = std::thread::spawn(move || {
        let written = comes_true(|| new.exists());
        interrupter.interrupt();
        written
    });
    world.run(&["write long"]);
    assert!(written.join().unwrap());
    assert!(world.ends()[0].ends_with("you stopped the run"), "{:?}", world.ends());
    assert!(!world.path("new.txt").exists());
    world.close();
}

fn trouble_inside_unflake_puts_files_back_too() {
    let mut world = World::of_cells(files(), 1);
    let new = world.path("new.txt");
    let sessions = world.ask(vec![("write long", None)]);
    let mut exec = world.exec.take().unwrap();
    let trouble = panic::catch_unwind(AssertUnwindSafe(|| {
        exec.run(sessions, &mut |_| assert!(!new.exists(), "this is the trouble"));
    }));
    assert!(trouble.is_err() && new.exists());
    drop(exec);
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

fn with_pytest_files_are_put_back() {
    let mut world = World::of_pytest(PYTEST, 2);
    let (once, sound) = ("test_it.py::test_once", "test_it.py::test_sound");
    let twice = format!("{once} {once}");
    world.run(&[&twice, &twice, sound, &twice, sound]);
    let failed = world.attempts().iter().filter(|one| one.contains("test_once failed 1")).count();
    assert_eq!((failed, world.attempts().len()), (3, 8), "{:?}", world.attempts());
    assert!(!world.path("cache").exists());
    world.close();
}

/// What the story below kills: a session that has written and goes on. It says where.
pub(crate) fn write_and_go_on() {
    let mut world = World::of_cells(files(), 1);
    fs::write(world.path("data.txt"), "one").unwrap();
    println!("{}", world.path("").display());
    world.run(&["change write long"]);
}

fn when_unflake_is_killed_its_keepers_put_files_back() {
    let place = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("write-and-go-on").env("TMPDIR", place.path()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut project = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut project).unwrap();
    let project = PathBuf::from(project.trim());
    let (new, data) = (project.join("new.txt"), project.join("data.txt"));
    assert!(comes_true(|| new.exists()), "the session did not begin");
    child.kill().unwrap();
    child.wait().unwrap();
    let is_put_back = || !new.exists() && fs::read_to_string(&data).is_ok_and(|text| text == "one");
    assert!(comes_true(is_put_back), "files are as the tests left them");
    let is_of_run = |entry: fs::DirEntry| entry.file_name().to_string_lossy().starts_with("unflake-");
    let is_clean = || !fs::read_dir(place.path()).unwrap().flatten().any(is_of_run);
    assert!(comes_true(is_clean), "the directory of the run is left");
}
