//! Worlds as other crates create them: prepared commands, delays, and reached processes.

#![cfg(target_os = "linux")]

use std::process::Command;
use std::time::{Duration, Instant};

use unflake_model::{Factor, World, declare_factors};
use unflake_worlds::{OpenWorld, ReachedPrograms};

fn world(factors: &[&str]) -> OpenWorld {
    declare_factors(unflake_worlds::factors());
    let factors: Vec<Factor> = factors.iter().map(|factor| factor.parse().unwrap()).collect();
    OpenWorld::new(&World::of(factors)).unwrap()
}

fn output(under: &OpenWorld, command: &[&str]) -> String {
    let mut prepared = Command::new(command[0]);
    prepared.args(&command[1..]);
    under.prepare(&mut prepared);
    String::from_utf8(prepared.output().unwrap().stdout).unwrap().trim().to_owned()
}

#[test]
fn every_command_starts_at_the_requested_moment() {
    let under = world(&["date=2027-01-30T23:59:50Z", "time-zone=UTC"]);
    for _ in 0..2 {
        assert_eq!(output(&under, &["date", "+%F %H:%M"]), "2027-01-30 23:59");
        std::thread::sleep(Duration::from_millis(300));
    }
}

#[test]
fn reached_processes_are_counted() {
    let under = world(&["date=+1d"]);
    assert_eq!(under.reached(), Some(ReachedPrograms::default()));
    output(&under, &["sh", "-c", "date; date"]);
    assert_eq!(under.reached(), Some(ReachedPrograms { processes: 3, ..ReachedPrograms::default() }));
    assert_eq!(world(&["load=1"]).reached(), None, "load needs no shim");
    assert!(world(&[]).reached().is_some(), "the world without factors has the shim");
}

#[test]
fn delays_are_made_while_they_are_armed() {
    // The first draw from this seed is a long one.
    let under = world(&["delays=2s/1@1"]);
    let takes = || {
        let began = Instant::now();
        output(&under, &["sleep", "0"]);
        began.elapsed()
    };
    let off = takes();
    under.arm(true).unwrap();
    let on = takes();
    under.arm(false).unwrap();
    let again = takes();
    let margin = Duration::from_millis(700);
    assert!(on > off + margin && on > again + margin, "{off:?} off, {on:?} on, {again:?} off again");
}

#[test]
fn factors_that_need_the_shim_are_known() {
    let under = world(&["date=+1d", "load=1", "network=off", "variable=A=b"]);
    let by_shim: Vec<String> = under.by_shim().iter().map(ToString::to_string).collect();
    assert_eq!(by_shim, ["date=+1d", "network=off"]);
    assert!(under.variables().contains(&("A".to_owned(), Some("b".to_owned()))));
}

#[test]
fn a_hidden_file_is_not_there_and_comes_back() {
    let place = tempfile::tempdir().unwrap();
    let (file, directory) = (place.path().join("left, behind"), place.path().join("out"));
    std::fs::write(&file, "old").unwrap();
    std::fs::create_dir_all(directory.join("deep")).unwrap();
    let without = |path: &std::path::Path| format!("without={}", path.display());
    let under = world(&[&without(&file), &without(&directory)]);
    let look = format!("cd '{0}' && ls && echo new > '{1}' && mkdir out && ls", place.path().display(), file.display());
    for _ in 0..2 {
        assert_eq!(output(&under, &["sh", "-c", &look]), "left, behind\nout");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "old");
    assert!(directory.join("deep").is_dir());
}

#[test]
fn the_working_directory_of_a_command_may_hide_files() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("left"), "old").unwrap();
    let under = world(&[&format!("without={}/left", place.path().display())]);
    let mut prepared = Command::new("ls");
    prepared.current_dir(place.path());
    under.prepare(&mut prepared);
    assert_eq!(String::from_utf8(prepared.output().unwrap().stdout).unwrap(), "");
}
