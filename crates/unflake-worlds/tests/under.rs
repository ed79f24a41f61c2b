//! Worlds as another room makes them: prepared commands, the switch for delays, what was reached.

#![cfg(target_os = "linux")]

use std::process::Command;
use std::time::{Duration, Instant};

use unflake_model::Factor;
use unflake_worlds::{ReachedPrograms, World};

fn world(factors: &[&str]) -> World {
    let factors: Vec<Factor> = factors.iter().map(|factor| factor.parse().unwrap()).collect();
    World::new(&factors).unwrap()
}

fn told(under: &World, command: &[&str]) -> String {
    let mut prepared = Command::new(command[0]);
    prepared.args(&command[1..]);
    under.prepare(&mut prepared);
    String::from_utf8(prepared.output().unwrap().stdout).unwrap().trim().to_owned()
}

#[test]
fn every_command_starts_at_the_moment_asked_for() {
    let under = world(&["date=2027-01-30T23:59:50Z", "time-zone=UTC"]);
    for _ in 0..2 {
        assert_eq!(told(&under, &["date", "+%F %H:%M"]), "2027-01-30 23:59");
        std::thread::sleep(Duration::from_millis(300));
    }
}

#[test]
fn what_was_reached_is_counted() {
    let under = world(&["date=+1d"]);
    assert_eq!(under.reached(), Some(ReachedPrograms::default()));
    told(&under, &["sh", "-c", "date; date"]);
    assert_eq!(under.reached(), Some(ReachedPrograms { processes: 3, ..ReachedPrograms::default() }));
    assert_eq!(world(&["load=1"]).reached(), None, "nothing needs to be reached for load");
    assert!(world(&[]).reached().is_some(), "the world without factors has the shim");
}

#[test]
fn delays_are_made_while_they_are_armed() {
    // The first draw from this seed is a long one.
    let under = world(&["delays=2s/1@1"]);
    let takes = || {
        let began = Instant::now();
        told(&under, &["sleep", "0"]);
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
fn what_holds_only_where_the_shim_is_can_be_told() {
    let under = world(&["date=+1d", "load=1", "network=off", "variable=A=b"]);
    let by_shim: Vec<String> = under.by_shim().map(ToString::to_string).collect();
    assert_eq!(by_shim, ["date=+1d", "network=off"]);
    assert!(under.variables().contains(&("A".to_owned(), Some("b".to_owned()))));
}
