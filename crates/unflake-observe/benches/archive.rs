//! Measures the time and peak memory of archiving and comparing traces:
//! `cargo bench -p unflake-observe --bench archive -- [RUNS] [EVENTS]`.
//!
//! The default is 50 runs of ten million events, half of them failing.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use unflake_model::{TraceId, Traces};
use unflake_observe::trace::{Frame, Places, Project, ThreadHeader, TraceArchive, write_thread};

const LINES: u32 = 400;

fn main() {
    let numbers: Vec<u64> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let (runs, events) = (numbers.first().copied().unwrap_or(50) as u32, numbers.get(1).copied().unwrap_or(10_000_000));
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("shop.py"), "").unwrap();
    let project = Project::new(root.path());
    let mut archive = TraceArchive::new(root.path().join("archive")).unwrap();

    let mut adding = 0.0;
    for run in 0..runs {
        let attempt = root.path().join("attempt");
        write(&attempt, root.path(), run, events);
        let began = Instant::now();
        archive.add(&attempt, &project).unwrap();
        adding += began.elapsed().as_secs_f64();
        fs::remove_dir_all(&attempt).unwrap();
    }
    println!(
        "{runs} traces of {events} events: added in {adding:.1} s ({:.1} ns an event)",
        each(adding, runs, events)
    );

    let began = Instant::now();
    let (mut longest, half) = (0, runs / 2);
    for failing in 0..half {
        let nearest = (half..runs).map(|passing| archive.common((TraceId(failing), 0), (TraceId(passing), 0))).max();
        longest = longest.max(nearest.unwrap_or_default());
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("{half} × {} compared in {seconds:.3} s, the longest common beginning has {longest} lines", runs - half);

    let began = Instant::now();
    for run in 0..runs {
        let mut at = 0;
        while let lines @ [_, ..] = &archive.lines((TraceId(run), 0), at, 16 << 10)[..] {
            at += black_box(lines).len() as u64;
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("all of them read in {seconds:.1} s ({:.1} ns an event)", each(seconds, runs, events));
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("memory: not known"));
    assert!(archive.error().is_none());
}

fn each(seconds: f64, runs: u32, events: u64) -> f64 {
    seconds * 1e9 / (f64::from(runs) * events as f64)
}

/// Loops of several lengths; each run diverges somewhere in its second half.
fn write(attempt: &Path, root: &Path, run: u32, events: u64) {
    let part = attempt.join("7-1");
    fs::create_dir_all(&part).unwrap();
    fs::write(part.join("process"), "unflake-trace 1\npid 7\nparent 1\nstarted 5\nexecutable /bin/tests\n").unwrap();
    let mut places = Places::default();
    let file = root.join("shop.py").to_string_lossy().into_owned();
    for id in 1..=LINES {
        places.insert(id, vec![Frame { file: file.as_str().into(), line: id, function: "total".into() }].into());
    }
    places.write(&part.join("places")).unwrap();
    let head = ThreadHeader { way: Some(Vec::new()), ended: true, ..ThreadHeader::default() };
    let parts = events / 2 + u64::from(run) * events / 120;
    let line = |at: u64| {
        let other = if at > parts { u64::from(run) } else { 0 };
        1 + ((at / 1009 * 31 + at % (7 + at / 50_021 % 23) + other) % u64::from(LINES)) as u32
    };
    write_thread(&part.join("thread-1"), &head, (0..events).map(line)).unwrap();
}
