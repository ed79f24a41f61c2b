//! Sessions with a common prefix share the states on it.

use serde_json::{Value, json};
use unflake_model::{Event, Probe};

use crate::NamedTest;
use crate::project::{EngineProject, comes_true};

pub(crate) const TESTS: &[NamedTest] = &[
    ("each_test_of_a_shared_prefix_runs_once", each_test_of_a_shared_prefix_runs_once),
    ("parallel_sessions_share_prefixes_too", parallel_sessions_share_prefixes_too),
    ("environments_are_parked_at_branching_points", environments_are_parked_at_branching_points),
    ("the_next_batch_reuses_parked_environments", the_next_batch_reuses_parked_environments),
    ("a_crash_in_the_prefix_ends_the_session", a_crash_in_the_prefix_ends_the_session),
    ("a_test_that_hangs_in_the_prefix_times_out", a_test_that_hangs_in_the_prefix_times_out),
    (
        "a_crash_after_the_prefix_does_not_affect_other_sessions",
        a_crash_after_the_prefix_does_not_affect_other_sessions,
    ),
    ("sessions_run_alone_where_no_fork_can_be_made", sessions_run_alone_where_no_fork_can_be_made),
    ("the_number_of_parked_environments_is_bounded", the_number_of_parked_environments_is_bounded),
    ("deep_paths_with_many_branches_run_once", deep_paths_with_many_branches_run_once),
    ("leaked_state_is_reported_and_restored", leaked_state_is_reported_and_restored),
    ("writes_to_watched_cells_are_located", writes_to_watched_cells_are_located),
    ("an_agent_that_cannot_compare_state_ends_the_session", an_agent_that_cannot_compare_state_ends_the_session),
    ("an_interrupt_ends_all_sessions", an_interrupt_ends_all_sessions),
    ("pytest_sessions_share_prefixes", pytest_sessions_share_prefixes),
    ("pytest_reports_and_restores_leaked_state", pytest_reports_and_restores_leaked_state),
    ("a_thread_in_pytest_does_not_prevent_sharing", a_thread_in_pytest_does_not_prevent_sharing),
];

fn cells() -> Value {
    json!({
        "a": ["set x 1"], "b": ["set y 1"], "c": ["set z 1"], "clean": ["drop x"], "v": ["need x"], "w": ["need y 1"],
        "crash": ["crash"], "hang": ["hang"], "thread": ["thread"], "deaf": ["deaf"], "slow": ["sleep 0.3"],
    })
}

fn each_test_of_a_shared_prefix_runs_once() {
    let mut project = EngineProject::scripted(cells(), 1);
    project.run(&["a b c | v", "a | v", "a b | v"]);
    assert_eq!(
        project.attempts(),
        ["0 c passed 2", "0 v failed 3", "1 a passed 0", "1 v failed 1", "2 b passed 1", "2 v failed 2"]
    );
    assert_eq!(project.ends(), ["0 [] ", "1 [] ", "2 [] "]);
    project.close();
}

fn parallel_sessions_share_prefixes_too() {
    let mut project = EngineProject::scripted(cells(), 3);
    project.run(&["a b c | v", "a | v", "a b | v", "c | v", "c b | v w", "v"]);
    assert_eq!(
        project.attempts(),
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
    project.close();
}

fn environments_are_parked_at_branching_points() {
    let mut project = EngineProject::scripted(cells(), 1);
    project.run(&["a b c | v", "a b clean | v", "a b | v", "a b | w"]);
    let attempts = project.attempts();
    assert_eq!(attempts.iter().filter(|one| one.contains(" a ")).count(), 1, "{attempts:?}");
    assert_eq!(attempts.iter().filter(|one| one.contains(" b ")).count(), 1, "{attempts:?}");
    assert!(attempts.contains(&"1 v passed 3".to_owned()), "{attempts:?}");
    assert!(attempts.contains(&"3 w passed 2".to_owned()), "{attempts:?}");
    assert_eq!(attempts.len(), 8);
    project.close();
}

fn the_next_batch_reuses_parked_environments() {
    let mut project = EngineProject::scripted(cells(), 2);
    project.run(&["a b | v"]).run(&["a b | v"]).run(&["a b c | v"]);
    assert_eq!(
        project.attempts(),
        ["0 a passed 0", "0 b passed 1", "0 v failed 2", "1 v failed 2", "2 c passed 2", "2 v failed 3"]
    );
    project.close();
}

fn a_crash_in_the_prefix_ends_the_session() {
    let mut project = EngineProject::scripted(cells(), 2);
    project.run(&["a crash b | v", "a crash | v", "a | v"]);
    assert_eq!(
        project.attempts().into_iter().filter(|one| one.contains("crash ")).collect::<Vec<_>>(),
        ["1 crash crashed (killed by SIGSEGV) 1"]
    );
    let why = "its state was not reached: `crash` exited its process (killed by SIGSEGV)";
    let ends = [format!("0 [a crash b v] {why}"), format!("1 [v] {why}"), "2 [] ".to_owned()];
    assert_eq!(project.ends(), ends);
    project.close();
}

fn a_test_that_hangs_in_the_prefix_times_out() {
    let mut project = EngineProject::scripted(cells(), 1);
    project.run(&["a hang b | v"]);
    assert_eq!(project.attempts(), ["0 a passed 0", "0 hang timed-out 1"]);
    let why = "its state was not reached: `hang` timed out";
    assert_eq!(project.ends(), [format!("0 [b v] {why}")]);
    project.close();
}

fn a_crash_after_the_prefix_does_not_affect_other_sessions() {
    let mut project = EngineProject::scripted(cells(), 1);
    project.run(&["a | crash v", "a | v", "a | v"]);
    assert_eq!(
        project.attempts(),
        ["0 a passed 0", "0 crash crashed (killed by SIGSEGV) 1", "1 v failed 1", "2 v failed 1"]
    );
    let why = "`crash` exited its process (killed by SIGSEGV), so its state is lost";
    assert_eq!(project.ends(), [format!("0 [v] {why}"), "1 [] ".to_owned(), "2 [] ".to_owned()]);
    project.close();
}

fn sessions_run_alone_where_no_fork_can_be_made() {
    let mut project = EngineProject::scripted(cells(), 2);
    project.run(&["a thread | v", "a thread | w", "a thread b | v", "a | v"]);
    let attempts = project.attempts();
    assert_eq!(attempts.iter().filter(|one| one.contains(" v failed") || one.contains(" w failed")).count(), 4);
    assert_eq!(attempts.iter().filter(|one| one.contains(" a ")).count(), 1, "{attempts:?}");
    assert_eq!(project.ends(), ["0 [] ", "1 [] ", "2 [] ", "3 [] "]);
    assert_eq!(project.notes(), ["some states cannot be shared by sessions, which takes longer: a thread is alive"]);
    project.close();
}

fn the_number_of_parked_environments_is_bounded() {
    let names: Vec<String> = (0..60).map(|n| format!("t{n}")).collect();
    let mut tests: serde_json::Map<String, Value> = names.iter().map(|name| (name.clone(), json!([]))).collect();
    tests.insert("v".to_owned(), json!([]));
    let mut project = EngineProject::scripted(Value::Object(tests), 2);
    let sessions: Vec<String> = (1..=60).map(|n| format!("{} | v", names[..n].join(" "))).collect();
    project.run(&sessions.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(project.attempts().len(), 120);
    assert_eq!(project.attempts().last().unwrap(), "59 v passed 60");
    // Two supervisors, the suite's process, the fork server and the last four states.
    assert!(comes_true(|| project.processes() <= 8), "{}", project.processes());
    project.close();
}

fn deep_paths_with_many_branches_run_once() {
    let names: Vec<String> = (0..40).map(|n| format!("t{n}")).collect();
    let mut tests: serde_json::Map<String, Value> = names.iter().map(|name| (name.clone(), json!([]))).collect();
    tests.extend([("v".to_owned(), json!([])), ("x".to_owned(), json!([]))]);
    let mut project = EngineProject::scripted(Value::Object(tests), 1);
    let straight = (1..=40).map(|n| format!("{} | v", names[..n].join(" ")));
    let branches = (1..=40).map(|n| format!("{} x | v", names[..n].join(" ")));
    let sessions: Vec<String> = straight.chain(branches).collect();
    project.run(&sessions.iter().map(String::as_str).collect::<Vec<_>>());
    // Each of the forty tests once, x after each of them, and v in every session.
    assert_eq!(project.attempts().len(), 40 + 40 + 80);
    project.close();
}

fn leaked_state_is_reported_and_restored() {
    let mut project = EngineProject::scripted(cells(), 2);
    let restore = |cells: &[&str]| {
        Some(Probe { restore: cells.iter().map(|cell| (*cell).to_owned()).collect(), ..Probe::default() })
    };
    project.run_with(vec![("a b | v", restore(&[])), ("a b | v", restore(&["x"])), ("a b | v", restore(&["fixed"]))]);
    assert_eq!(project.attempts(), ["0 a passed 0", "0 b passed 1", "0 v failed 2", "1 v passed 2", "2 v failed 2"]);
    assert_eq!(
        project.leaked(),
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
    project.events.clear();
    // A session that only compares, and one whose prefix is part of another's.
    project.run_with(vec![("a b c |", restore(&[])), ("a | v", restore(&["x"]))]);
    assert_eq!(project.attempts(), ["3 c passed 2", "4 a passed 0", "4 v passed 1"]);
    assert_eq!(project.leaked().len(), 6);
    project.close();
}

fn writes_to_watched_cells_are_located() {
    let mut project = EngineProject::scripted(cells(), 2);
    let watch = Some(Probe { watch: vec!["y".to_owned()], ..Probe::default() });
    project.run_with(vec![("a b | v", Some(Probe::default())), ("a b | v", watch)]);
    assert_eq!(
        project.attempts(),
        ["0 a passed 0", "0 b passed 1", "0 v failed 2", "1 a passed 0", "1 b passed 1", "1 v failed 2"]
    );
    assert_eq!(project.leaked(), ["0 x - 1", "0 y - 1", "0: 0 unknown", "1 x - 1", "1 y - 1 at b:1", "1: 0 unknown"]);
    project.close();
}

fn an_agent_that_cannot_compare_state_ends_the_session() {
    let mut project = EngineProject::scripted(cells(), 1);
    project.run_with(vec![("deaf | v", Some(Probe::default()))]);
    assert_eq!(project.ends(), ["0 [v] the state that tests leave could not be compared: deaf"]);
    project.close();
}

fn an_interrupt_ends_all_sessions() {
    let mut project = EngineProject::scripted(cells(), 2);
    project.run(&["a b | v"]);
    let interrupter = project.engine().interrupter();
    std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(400));
        interrupter.interrupt();
    });
    project.run(&["a b slow slow | v", "a b slow slow slow | v", "c slow slow slow slow | v"]);
    assert!(project.ends().iter().skip(1).all(|end| end.ends_with("interrupted")), "{:?}", project.ends());
    project.close();
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

fn pytest_sessions_share_prefixes() {
    let mut project = EngineProject::of_pytest(PYTEST, 2);
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
    project.run(&sessions.each_ref().map(String::as_str));
    assert_eq!(
        project.attempts(),
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
    assert!(!project.events.iter().any(|one| matches!(one, Event::Problem(_))), "{:?}", project.events);
    project.close();
}

fn a_thread_in_pytest_does_not_prevent_sharing() {
    let mut project = EngineProject::of_pytest(PYTEST, 2);
    project.run(&[
        "test_it.py::test_a test_it.py::test_thread | test_it.py::test_v",
        "test_it.py::test_a test_it.py::test_thread | test_it.py::test_c",
    ]);
    let attempts = project.attempts();
    assert!(attempts.contains(&"0 test_v failed 2".to_owned()), "{attempts:?}");
    assert!(attempts.contains(&"1 test_c passed 2".to_owned()), "{attempts:?}");
    assert_eq!(project.notes().len(), 1, "{:?}", project.notes());
    project.close();
}

fn pytest_reports_and_restores_leaked_state() {
    let mut project = EngineProject::of_pytest(PYTEST, 2);
    let session = "test_it.py::test_c test_it.py::test_sound | test_it.py::test_v";
    let restore = |cells: &[&str]| {
        Some(Probe { restore: cells.iter().map(|cell| (*cell).to_owned()).collect(), ..Probe::default() })
    };
    project.run_with(vec![(session, restore(&[]))]);
    let left = project.leaked();
    let cell = left.iter().find(|line| line.contains("STATE")).unwrap_or_else(|| panic!("{left:?}"));
    let path = cell.split(' ').nth(1).unwrap().to_owned();
    let watch = Some(Probe { watch: vec![path.clone()], ..Probe::default() });
    project.run_with(vec![(session, restore(&[&path])), (session, watch), (session, restore(&["no.such.cell"]))]);
    let attempts = project.attempts();
    let of_v: Vec<&String> = attempts.iter().filter(|one| one.contains("test_v")).collect();
    assert_eq!(of_v, ["0 test_v failed 2", "1 test_v passed 2", "2 test_v failed 2", "3 test_v failed 2"]);
    let left = project.leaked();
    assert!(
        left.iter().any(|line| line.starts_with("2 ") && line.contains("STATE") && line.contains(" at ")),
        "{left:?}"
    );
    assert!(left.iter().any(|line| line.starts_with("3 no.such.cell: ")), "{left:?}");
    project.close();
}
