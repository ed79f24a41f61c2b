//! States that are reached once and used often.

use serde_json::{Value, json};
use unflake_model::{Observation, Probe};

use crate::Story;
use crate::world::{World, comes_true};

pub(crate) const STORIES: &[Story] = &[
    ("each_test_on_the_way_runs_once", each_test_on_the_way_runs_once),
    ("side_by_side_it_does_too", side_by_side_it_does_too),
    ("branches_are_parked_where_they_part", branches_are_parked_where_they_part),
    ("the_next_batch_finds_the_last_states", the_next_batch_finds_the_last_states),
    ("a_crash_on_the_way_ends_the_session", a_crash_on_the_way_ends_the_session),
    ("a_test_that_hangs_on_the_way_is_ended", a_test_that_hangs_on_the_way_is_ended),
    ("a_crash_in_the_rest_leaves_the_state_to_others", a_crash_in_the_rest_leaves_the_state_to_others),
    ("where_no_copy_can_be_made_each_goes_alone", where_no_copy_can_be_made_each_goes_alone),
    ("many_states_do_not_become_many_processes", many_states_do_not_become_many_processes),
    ("deep_ways_with_many_branches_are_gone_once", deep_ways_with_many_branches_are_gone_once),
    ("what_is_left_behind_is_told_and_put_back", what_is_left_behind_is_told_and_put_back),
    ("watched_cells_say_where_they_were_written", watched_cells_say_where_they_were_written),
    ("an_agent_that_does_not_answer_ends_the_session", an_agent_that_does_not_answer_ends_the_session),
    ("an_interrupt_ends_everything", an_interrupt_ends_everything),
    ("with_pytest", with_pytest),
    ("pytest_tells_what_is_left_and_puts_it_back", pytest_tells_what_is_left_and_puts_it_back),
    ("a_thread_in_pytest_is_no_obstacle", a_thread_in_pytest_is_no_obstacle),
];

fn cells() -> Value {
    json!({
        "a": ["set x 1"], "b": ["set y 1"], "c": ["set z 1"], "clean": ["drop x"], "v": ["need x"], "w": ["need y 1"],
        "crash": ["crash"], "hang": ["hang"], "thread": ["thread"], "deaf": ["deaf"], "slow": ["sleep 0.3"],
    })
}

fn each_test_on_the_way_runs_once() {
    let mut world = World::of_cells(cells(), 1);
    world.run(&["a b c | v", "a | v", "a b | v"]);
    assert_eq!(
        world.attempts(),
        ["0 c passed 2", "0 v failed 3", "1 a passed 0", "1 v failed 1", "2 b passed 1", "2 v failed 2"]
    );
    assert_eq!(world.ends(), ["0 [] ", "1 [] ", "2 [] "]);
    world.close();
}

fn side_by_side_it_does_too() {
    let mut world = World::of_cells(cells(), 3);
    world.run(&["a b c | v", "a | v", "a b | v", "c | v", "c b | v w", "v"]);
    assert_eq!(
        world.attempts(),
        [
            "0 c passed 2",
            "0 v failed 3",
            "1 a passed 0",
            "1 v failed 1",
            "2 b passed 1",
            "2 v failed 2",
            "3 c passed 0",
            "3 v passed 1",
            "4 b passed 1",
            "4 v passed 2",
            "4 w passed 3",
            "5 v passed 0",
        ]
    );
    world.close();
}

fn branches_are_parked_where_they_part() {
    let mut world = World::of_cells(cells(), 1);
    world.run(&["a b c | v", "a b clean | v", "a b | v", "a b | w"]);
    let attempts = world.attempts();
    assert_eq!(attempts.iter().filter(|one| one.contains(" a ")).count(), 1, "{attempts:?}");
    assert_eq!(attempts.iter().filter(|one| one.contains(" b ")).count(), 1, "{attempts:?}");
    assert!(attempts.contains(&"1 v passed 3".to_owned()), "{attempts:?}");
    assert!(attempts.contains(&"3 w passed 2".to_owned()), "{attempts:?}");
    assert_eq!(attempts.len(), 8);
    world.close();
}

fn the_next_batch_finds_the_last_states() {
    let mut world = World::of_cells(cells(), 2);
    world.run(&["a b | v"]).run(&["a b | v"]).run(&["a b c | v"]);
    assert_eq!(
        world.attempts(),
        ["0 a passed 0", "0 b passed 1", "0 v failed 2", "1 v failed 2", "2 c passed 2", "2 v failed 3"]
    );
    world.close();
}

fn a_crash_on_the_way_ends_the_session() {
    let mut world = World::of_cells(cells(), 2);
    world.run(&["a crash b | v", "a crash | v", "a | v"]);
    assert_eq!(
        world.attempts().into_iter().filter(|one| one.contains("crash ")).collect::<Vec<_>>(),
        ["1 crash crashed (killed by SIGSEGV) 1"]
    );
    let why = "the state in which it was to run was not reached: `crash` ended its process (killed by SIGSEGV)";
    let ends = [format!("0 [a crash b v] {why}"), format!("1 [v] {why}"), "2 [] ".to_owned()];
    assert_eq!(world.ends(), ends);
    world.close();
}

fn a_test_that_hangs_on_the_way_is_ended() {
    let mut world = World::of_cells(cells(), 1);
    world.run(&["a hang b | v"]);
    assert_eq!(world.attempts(), ["0 a passed 0", "0 hang timed-out 1"]);
    let why = "the state in which it was to run was not reached: `hang` ran out of time";
    assert_eq!(world.ends(), [format!("0 [b v] {why}")]);
    world.close();
}

fn a_crash_in_the_rest_leaves_the_state_to_others() {
    let mut world = World::of_cells(cells(), 1);
    world.run(&["a | crash v", "a | v", "a | v"]);
    assert_eq!(
        world.attempts(),
        ["0 a passed 0", "0 crash crashed (killed by SIGSEGV) 1", "1 v failed 1", "2 v failed 1"]
    );
    let why = "`crash` ended its process (killed by SIGSEGV), and the state in which it was to run is lost";
    assert_eq!(world.ends(), [format!("0 [v] {why}"), "1 [] ".to_owned(), "2 [] ".to_owned()]);
    world.close();
}

fn where_no_copy_can_be_made_each_goes_alone() {
    let mut world = World::of_cells(cells(), 2);
    world.run(&["a thread | v", "a thread | w", "a thread b | v", "a | v"]);
    let attempts = world.attempts();
    assert_eq!(attempts.iter().filter(|one| one.contains(" v failed") || one.contains(" w failed")).count(), 4);
    assert_eq!(attempts.iter().filter(|one| one.contains(" a ")).count(), 1, "{attempts:?}");
    assert_eq!(world.ends(), ["0 [] ", "1 [] ", "2 [] ", "3 [] "]);
    assert_eq!(world.notes(), ["some states cannot be shared by sessions, which takes longer: a thread is alive"]);
    world.close();
}

fn many_states_do_not_become_many_processes() {
    let names: Vec<String> = (0..60).map(|n| format!("t{n}")).collect();
    let mut tests: serde_json::Map<String, Value> = names.iter().map(|name| (name.clone(), json!([]))).collect();
    tests.insert("v".to_owned(), json!([]));
    let mut world = World::of_cells(Value::Object(tests), 2);
    let sessions: Vec<String> = (1..=60).map(|n| format!("{} | v", names[..n].join(" "))).collect();
    world.run(&sessions.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(world.attempts().len(), 120);
    assert_eq!(world.attempts().last().unwrap(), "59 v passed 60");
    // Two keepers, the suite's process, the nursery and the last four states.
    assert!(comes_true(|| world.processes() <= 8), "{}", world.processes());
    world.close();
}

fn deep_ways_with_many_branches_are_gone_once() {
    let names: Vec<String> = (0..40).map(|n| format!("t{n}")).collect();
    let mut tests: serde_json::Map<String, Value> = names.iter().map(|name| (name.clone(), json!([]))).collect();
    tests.extend([("v".to_owned(), json!([])), ("x".to_owned(), json!([]))]);
    let mut world = World::of_cells(Value::Object(tests), 1);
    let straight = (1..=40).map(|n| format!("{} | v", names[..n].join(" ")));
    let aside = (1..=40).map(|n| format!("{} x | v", names[..n].join(" ")));
    let sessions: Vec<String> = straight.chain(aside).collect();
    world.run(&sessions.iter().map(String::as_str).collect::<Vec<_>>());
    // Each of the forty once, x after each of them, and v in every session.
    assert_eq!(world.attempts().len(), 40 + 40 + 80);
    world.close();
}

fn what_is_left_behind_is_told_and_put_back() {
    let mut world = World::of_cells(cells(), 2);
    let restore = |cells: &[&str]| {
        Some(Probe { restore: cells.iter().map(|cell| (*cell).to_owned()).collect(), ..Probe::default() })
    };
    world.run_with(vec![("a b | v", restore(&[])), ("a b | v", restore(&["x"])), ("a b | v", restore(&["fixed"]))]);
    assert_eq!(world.attempts(), ["0 a passed 0", "0 b passed 1", "0 v failed 2", "1 v passed 2", "2 v failed 2"]);
    assert_eq!(
        world.left(),
        [
            "0 x - 1",
            "0 y - 1",
            "0: 0 unknown",
            "1 x - 1",
            "1 y - 1",
            "1: 0 unknown",
            "2 fixed: it is fixed",
            "2 x - 1",
            "2 y - 1",
            "2: 0 unknown",
        ]
    );
    world.told.clear();
    // A session that only looks, and one that stops on the way of another.
    world.run_with(vec![("a b c |", restore(&[])), ("a | v", restore(&["x"]))]);
    assert_eq!(world.attempts(), ["3 c passed 2", "4 a passed 0", "4 v passed 1"]);
    assert_eq!(world.left().len(), 6);
    world.close();
}

fn watched_cells_say_where_they_were_written() {
    let mut world = World::of_cells(cells(), 2);
    let watch = Some(Probe { watch: vec!["y".to_owned()], ..Probe::default() });
    world.run_with(vec![("a b | v", Some(Probe::default())), ("a b | v", watch)]);
    assert_eq!(
        world.attempts(),
        ["0 a passed 0", "0 b passed 1", "0 v failed 2", "1 a passed 0", "1 b passed 1", "1 v failed 2"]
    );
    assert_eq!(world.left(), ["0 x - 1", "0 y - 1", "0: 0 unknown", "1 x - 1", "1 y - 1 at b:1", "1: 0 unknown"]);
    world.close();
}

fn an_agent_that_does_not_answer_ends_the_session() {
    let mut world = World::of_cells(cells(), 1);
    world.run_with(vec![("deaf | v", Some(Probe::default()))]);
    assert_eq!(world.ends(), ["0 [v] what tests leave behind could not be looked at: deaf"]);
    world.close();
}

fn an_interrupt_ends_everything() {
    let mut world = World::of_cells(cells(), 2);
    world.run(&["a b | v"]);
    let interrupter = world.exec().interrupter();
    std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(400));
        interrupter.interrupt();
    });
    world.run(&["a b slow slow | v", "a b slow slow slow | v", "c slow slow slow slow | v"]);
    assert!(world.ends().iter().skip(1).all(|end| end.ends_with("you stopped the run")), "{:?}", world.ends());
    world.close();
}

const PYTEST: &str = "
import threading, time
import pytest
STATE = []

@pytest.fixture(scope='module')
def shared():
    STATE.append('set up')
    yield
    STATE.append('torn down')

def test_a(shared): STATE.append('a')
def test_b(shared): STATE.append('b')
def test_c(): STATE.append('c')
def test_sound(): pass
def test_thread(): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
def test_v(): assert not [s for s in STATE if s in 'abc']
def test_crash():
    import os
    os.abort()
";

fn with_pytest() {
    let mut world = World::of_pytest(PYTEST, 2);
    let of = |text: &str| {
        text.split(' ')
            .map(|word| match word {
                "|" => "|".to_owned(),
                word => format!("test_it.py::test_{word}"),
            })
            .collect::<Vec<_>>()
            .join(" ")
    };
    let sessions = ["a | v", "a b | v", "a b c | v", "a crash | v", "v", "c v b | v", "c v b v"].map(of);
    world.run(&sessions.each_ref().map(String::as_str));
    assert_eq!(
        world.attempts(),
        [
            "0 test_a passed 0",
            "0 test_v failed 1",
            "1 test_b passed 1",
            "1 test_v failed 2",
            "2 test_c passed 2",
            "2 test_v failed 3",
            "3 test_crash crashed (killed by SIGABRT) 1",
            "4 test_v passed 0",
            "5 test_c passed 0",
            "5 test_v failed 1",
            "5 test_b passed 2",
            "5 test_v failed 3",
            "6 test_c passed 0",
            "6 test_v failed 1",
            "6 test_b passed 2",
            "6 test_v failed 3",
        ]
    );
    assert!(!world.told.iter().any(|one| matches!(one, Observation::Problem(_))), "{:?}", world.told);
    world.close();
}

fn a_thread_in_pytest_is_no_obstacle() {
    let mut world = World::of_pytest(PYTEST, 2);
    world.run(&[
        "test_it.py::test_a test_it.py::test_thread | test_it.py::test_v",
        "test_it.py::test_a test_it.py::test_thread | test_it.py::test_c",
    ]);
    let attempts = world.attempts();
    assert!(attempts.contains(&"0 test_v failed 2".to_owned()), "{attempts:?}");
    assert!(attempts.contains(&"1 test_c passed 2".to_owned()), "{attempts:?}");
    assert_eq!(world.notes().len(), 1, "{:?}", world.notes());
    world.close();
}

fn pytest_tells_what_is_left_and_puts_it_back() {
    let mut world = World::of_pytest(PYTEST, 2);
    let session = "test_it.py::test_c test_it.py::test_sound | test_it.py::test_v";
    let restore = |cells: &[&str]| {
        Some(Probe { restore: cells.iter().map(|cell| (*cell).to_owned()).collect(), ..Probe::default() })
    };
    world.run_with(vec![(session, restore(&[]))]);
    let left = world.left();
    let cell = left.iter().find(|line| line.contains("STATE")).unwrap_or_else(|| panic!("{left:?}"));
    let path = cell.split(' ').nth(1).unwrap().to_owned();
    let watch = Some(Probe { watch: vec![path.clone()], ..Probe::default() });
    world.run_with(vec![(session, restore(&[&path])), (session, watch), (session, restore(&["no.such.cell"]))]);
    let attempts = world.attempts();
    let of_v: Vec<&String> = attempts.iter().filter(|one| one.contains("test_v")).collect();
    assert_eq!(of_v, ["0 test_v failed 2", "1 test_v passed 2", "2 test_v failed 2", "3 test_v failed 2"]);
    let left = world.left();
    assert!(
        left.iter().any(|line| line.starts_with("2 ") && line.contains("STATE") && line.contains(" at ")),
        "{left:?}"
    );
    assert!(left.iter().any(|line| line.starts_with("3 no.such.cell: ")), "{left:?}");
    world.close();
}
