//! Measures time and space per stored attempt:
//! `cargo run --release -p unflake-store --example cost [TESTS] [RUNS] [LOCATION]`.
//!
//! The location defaults to a temporary directory; for a server (`postgres://…`) no sizes are
//! printed.

use std::path::Path;
use std::time::{Duration, Instant};

use unflake_model::{Attempt, EnvironmentId, Event, Isolation, Outcome, Purpose, SessionId, Test, TestId, Timestamp};
use unflake_store::{Host, Revision, RunFacts, Store, StoreLocation};

const BATCH: usize = 50;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let tests = arguments.next().map_or(Ok(20_000), |argument| argument.parse())?;
    let runs = arguments.next().map_or(Ok(3), |argument| argument.parse())?;

    let dir = tempfile::tempdir()?;
    let place = match arguments.next() {
        Some(text) => StoreLocation::parse(&text, dir.path(), &|name| std::env::var(name).ok())?,
        None => dir.path().into(),
    };
    let listing: Vec<Test> = (0..tests).map(test).collect();
    println!("run  listing ms  CPU µs/attempt  elapsed µs/attempt  bytes/attempt");
    let mut size = 0;
    for number in 1..=runs {
        let mut store = Store::open(&place)?;
        let run = store.begin(&facts())?;
        let start = Instant::now();
        store.record(
            run,
            &[Event::TestsListed { tests: listing.clone(), deselected: 0, isolated: false, seconds: 0.0 }],
        )?;
        let listed = start.elapsed();
        if number == 1 {
            // Excludes the test names from the size of the attempts.
            drop(store);
            size = bytes(&place.dir);
            store = Store::open(&place)?;
        }

        let batches: Vec<Vec<Event>> = listing.chunks(BATCH).enumerate().map(|(n, tests)| batch(n, tests)).collect();
        let (start, cpu_start) = (Instant::now(), cpu()?);
        for batch in &batches {
            store.record(run, batch)?;
        }
        let (elapsed, spent) = (start.elapsed(), cpu()? - cpu_start);
        drop(store);
        let grown = bytes(&place.dir) - size;
        size += grown;
        let each = |time: Duration| time.as_secs_f64() * 1e6 / tests as f64;
        println!(
            "{number:>3}  {:>10.1}  {:>14.2}  {:>18.2}  {:>13.1}",
            listed.as_secs_f64() * 1e3,
            each(spent),
            each(elapsed),
            grown as f64 / tests as f64
        );
    }

    let store = Store::open(&place)?;
    let start = Instant::now();
    let kept = store.attempts_of(&listing[tests / 2].id, 1_000)?.len();
    println!("{kept} attempts of one test read in {:.2} ms", start.elapsed().as_secs_f64() * 1e3);
    let start = Instant::now();
    let found = store.find_tests("test_case_77")?.len();
    println!("{found} tests found in {:.2} ms", start.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

fn test(n: usize) -> Test {
    let file = format!("tests/unit/test_module_{:03}.py", n / 50);
    let id = TestId::new(format!("{file}::TestThing::test_case_{n}"));
    Test { id, file: Some(file.into()), line: Some(10 + n as u32 % 50 * 7), command: Vec::new() }
}

fn batch(number: usize, tests: &[Test]) -> Vec<Event> {
    let attempt = |(n, test): (usize, &Test)| {
        let position = (number * BATCH + n) as u32;
        Event::AttemptEnded(Attempt {
            test: test.id.clone(),
            session: SessionId(0),
            purpose: Purpose::Suite,
            environment: EnvironmentId(position % 8),
            origin: Isolation::Process,
            world: None,
            position: position / 8,
            run: 0,
            outcome: Outcome::Passed,
            started: Timestamp(1_700_000_000_000_000 + i64::from(position) * 4_321),
            seconds: 0.001_234_5 + f64::from(position) / 1e7,
            load: None,
            failure: None,
            stdout: String::new(),
            stderr: String::new(),
        })
    };
    tests.iter().enumerate().map(attempt).collect()
}

fn facts() -> RunFacts {
    RunFacts {
        command: vec!["pytest".into()],
        cwd: ".".into(),
        started: Timestamp(1_700_000_000_000_000),
        revision: Revision::default(),
        host: Host::default(),
        version: env!("CARGO_PKG_VERSION").into(),
    }
}

fn bytes(dir: &Path) -> u64 {
    std::fs::metadata(dir.join(unflake_store::FILE)).map_or(0, |file| file.len())
}

/// CPU time of this process so far, user and system, in the kernel's unit of 10 ms.
fn cpu() -> Result<Duration, Box<dyn std::error::Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = stat.rsplit_once(") ").ok_or("no process name")?.1;
    let ticks = after_name.split(' ').skip(11).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(Duration::from_millis(ticks * 10))
}
