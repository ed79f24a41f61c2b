//! Checks that ten runs of a large suite need little memory, because equal facts are stored once.

use std::fmt::Write;
use std::fs;

use unflake_model::{
    Attempt, EnvironmentId, Event, Isolation, Layer, LayerFacts, Outcome, Purpose, SessionId, Timestamp,
};
use unflake_observe::layers::{LayerArchive, Rules};

/// Observations of a test of a large project: lines of many files, assertions, values.
fn look(test: usize, run: usize) -> String {
    let mut text = String::from("[\"format\",1]\n");
    for file in 0..20 {
        let path = (test * 7 + file) % 400;
        let _ = writeln!(text, "[\"file\",{file},\"shop/module_{path}.py\"]");
        let ranges: Vec<String> = (0..10).map(|at| format!("[{},{}]", at * 20 + 1, at * 20 + 1 + test % 17)).collect();
        let _ = writeln!(text, "[\"lines\",{file},[{}]]", ranges.join(","));
    }
    for site in 0..5 {
        let _ = writeln!(text, "[\"site\",{site},0,\"test_{test}\",\"x == {site}\",0,{site}]");
        // One test in a hundred has a different value in every run.
        let value = if test.is_multiple_of(100) { run } else { site };
        let _ = writeln!(
            text,
            "[\"assert\",{site},\"held\",[[\"x\",{value}],[\"cart\",\"<Cart at 0x7f{test:06x}{run:04x}>\"]]]"
        );
    }
    let _ = writeln!(text, "[\"point\",0,0,\"f\",\"enter\",[\"x\",\"y\"]]");
    for at in 0..20 {
        let _ = writeln!(text, "[\"row\",0,[{at},{}]]", at * 2 + test);
    }
    text
}

/// The peak memory of this process in MiB. Linux only.
fn most_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kilobytes| kilobytes / 1024)
}

fn fill(tests: usize, runs: usize) -> LayerArchive {
    let directory = tempfile::tempdir().unwrap();
    let mut archive = LayerArchive::new(&Layer::ALL, Rules::without(&[], &[]).unwrap());
    for run in 0..runs {
        for test in 0..tests {
            let file = directory.path().join("layers");
            fs::write(&file, look(test, run)).unwrap();
            let (id, environment) = (format!("tests/test_{}.py::test_{test}", test / 20), EnvironmentId(run as u32));
            archive.take(&Event::LayersRecorded { test: id.as_str().into(), environment, file });
            archive.take(&Event::AttemptEnded(Attempt {
                test: id.as_str().into(),
                session: SessionId(run as u32),
                purpose: Purpose::Look,
                environment,
                origin: Isolation::Fork,
                world: None,
                position: test as u32,
                run: 0,
                outcome: Outcome::Passed,
                started: Timestamp(0),
                seconds: 0.01,
                load: None,
                failure: None,
                stdout: String::new(),
                stderr: String::new(),
            }));
        }
    }
    archive
}

/// `cargo test --release -p unflake-observe --test large -- --ignored --nocapture` prints the
/// memory for 5,000 tests.
#[test]
#[ignore = "a measurement, minutes without --release"]
fn a_large_suite() {
    let began = std::time::Instant::now();
    let archive = fill(5000, 10);
    println!("{:?}, {:?} MiB", began.elapsed(), most_memory());
    // 5,000 tests with 1,800 lines each, ten times: 360 MB for the numbers alone without sharing.
    assert!(most_memory().is_none_or(|most| most < 300), "{:?} MiB", most_memory());
    assert_eq!(archive.output(0, Layer::Code), archive.output(5000, Layer::Code));
}
