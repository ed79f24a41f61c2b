//! Tests of the archive with traces of many runs and with malformed traces.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use unflake_model::{Cause, TraceId, Traces};
use unflake_observe::trace::{
    Frame, Places, Project, ThreadHeader, TraceArchive, Truncated, TruncationReason, write_thread,
};

/// A project with one file, and a directory for its attempts.
struct TestProject {
    root: tempfile::TempDir,
    archive: TraceArchive,
    written: u32,
}

impl TestProject {
    fn new() -> TestProject {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("shop.py"), "\n".repeat(100)).unwrap();
        let archive = TraceArchive::new(root.path().join("archive")).unwrap();
        TestProject { root, archive, written: 0 }
    }

    /// Creates a process whose place `id` is the line `line` of the project.
    fn part(&mut self, table: &[(u32, u32)]) -> PathBuf {
        self.written += 1;
        let part = self.root.path().join(format!("attempt-{}", self.written)).join("7-1");
        fs::create_dir_all(&part).unwrap();
        fs::write(part.join("process"), "unflake-trace 1\npid 7\nparent 1\nstarted 5\nexecutable /bin/tests\n")
            .unwrap();
        let mut places = Places::default();
        let file = self.root.path().join("shop.py").to_string_lossy().into_owned();
        for (id, line) in table {
            let frame = Frame { file: file.as_str().into(), line: *line, function: "total".into() };
            places.insert(*id, vec![frame].into());
        }
        places.insert(99, vec![Frame { file: "/usr/lib/x.py".into(), line: 1, function: "x".into() }].into());
        places.write(&part.join("places")).unwrap();
        part
    }

    fn add(&mut self, part: &Path) -> Result<TraceId, unflake_observe::trace::Error> {
        self.archive.add(part.parent().unwrap(), &Project::new(self.root.path()))
    }

    fn trace(&mut self, table: &[(u32, u32)], ids: &[u32]) -> TraceId {
        let part = self.part(table);
        write_thread(&part.join("thread-1"), &head(), ids.iter().copied()).unwrap();
        self.add(&part).unwrap()
    }

    fn lines(&self, trace: TraceId) -> Vec<u32> {
        let ids = self.archive.lines((trace, 0), 0, usize::MAX);
        ids.into_iter().map(|id| self.archive.line(id).line).collect()
    }
}

fn head() -> ThreadHeader {
    ThreadHeader { way: Some(Vec::new()), started: 100, ended: true, ..ThreadHeader::default() }
}

#[test]
fn line_numbers_are_shared_between_traces() {
    let mut world = TestProject::new();
    let one = world.trace(&[(1, 10), (2, 20)], &[1, 2, 99, 1]);
    let other = world.trace(&[(8, 20), (7, 10)], &[7, 8, 8]);
    assert_eq!((one, other), (TraceId(0), TraceId(1)));
    assert_eq!(world.lines(one), [10, 20, 10]);
    assert_eq!(world.lines(other), [10, 20, 20]);
    assert_eq!(world.archive.common((one, 0), (other, 0)), 2);
    let line = world.archive.line(world.archive.lines((one, 0), 1, 1)[0]);
    assert_eq!((line.file.as_str(), line.line, line.function.as_str()), ("shop.py", 20, "total"));
    assert_eq!(world.archive.strands(one)[0].key, "main");
}

#[test]
fn places_of_one_line_are_one_step_until_one_repeats() {
    let mut world = TestProject::new();
    let trace = world.trace(&[(1, 10), (2, 10), (3, 11)], &[1, 2, 1, 2, 3, 2, 99, 2]);
    assert_eq!(world.lines(trace), [10, 10, 11, 10, 10]);
}

#[test]
fn values_have_positions_and_calls_are_merged() {
    let mut world = TestProject::new();
    for _ in 0..2 {
        let part = world.part(&[(1, 10), (2, 10), (3, 11)]);
        write_thread(&part.join("thread-4"), &head(), [1, 2, 99, 3, 3]).unwrap();
        let values =
            "2\t2\tjitter\t0.5\n3\t99\tx\t1\n4\t3\treturns\t'a\\tb'\n5\t3\tn\t[3 items] [1, 2, 3]\n9\t3\tlate\t1\n";
        fs::write(part.join("values-4"), values).unwrap();
        fs::write(part.join("reaches"), "1\trandomness\trandom.random\n99\ttime\ttime.time\n").unwrap();
        world.add(&part).unwrap();
    }
    let seen = world.archive.values((TraceId(1), 0));
    let recorded: Vec<_> =
        seen.iter().map(|seen| (seen.at, world.archive.line(seen.line).line, &*seen.name, &*seen.text)).collect();
    assert_eq!(
        recorded,
        [(1, 10, "jitter", "0.5"), (2, 11, "returns", "'a\tb'"), (3, 11, "n", "[3 items] [1, 2, 3]")],
        "what was seen behind the last line that was kept has no place in it"
    );
    let [reach] = world.archive.reaches() else { panic!("{:?}", world.archive.reaches()) };
    assert_eq!((reach.cause, reach.what.as_str()), (Cause::Randomness, "random.random"));
    assert_eq!(world.archive.gaps(), [""; 0]);
}

#[test]
fn truncated_threads_are_marked() {
    let mut world = TestProject::new();
    let part = world.part(&[(1, 10)]);
    let truncated = Some(Truncated { why: TruncationReason::ThreadLimit, dropped: 3 });
    write_thread(&part.join("thread-1"), &ThreadHeader { truncated, ..head() }, [1]).unwrap();
    let left_behind = ThreadHeader { number: 2, way: Some(vec![1]), started: 350, ended: false, ..head() };
    write_thread(&part.join("thread-2"), &left_behind, [1]).unwrap();
    let trace = world.add(&part).unwrap();
    let [main, worker] = world.archive.strands(trace) else { panic!() };
    assert_eq!(main.truncated.as_deref(), Some("the limit of a thread was reached"));
    assert_eq!(worker.truncated.as_deref(), Some("it was still running at the end"));
    assert_eq!((worker.key.as_str(), worker.began), ("main.1", 250));
}

#[test]
fn an_unreadable_trace_keeps_its_number() {
    let mut world = TestProject::new();
    let part = world.part(&[(1, 10)]);
    write_thread(&part.join("thread-1"), &head(), [1]).unwrap();
    fs::write(part.join("places"), "something else").unwrap();
    assert!(world.add(&part).unwrap_err().to_string().contains("not a table of places"));
    assert!(world.archive.strands(TraceId(0)).is_empty());
    assert!(world.archive.gaps()[0].contains("run 1 left no trace that can be read"), "{:?}", world.archive.gaps());
    assert_eq!(world.trace(&[(1, 10)], &[1]), TraceId(1));
}

#[test]
fn traces_of_killed_processes_are_read() {
    let mut world = TestProject::new();
    let part = world.part(&[(1, 10), (2, 20)]);
    write_thread(&part.join("thread-1"), &ThreadHeader { ended: false, ..head() }, [1, 2, 1, 0, 0]).unwrap();
    let zeros = |name: &str, text: &str| {
        let mut bytes = fs::read(part.join(name)).unwrap_or_default();
        bytes.extend(text.as_bytes());
        bytes.resize(2 << 20, 0);
        fs::write(part.join(name), bytes).unwrap();
    };
    zeros("places", "3\t/half");
    zeros("values-1", "1\t1\tx\t5\n2\t2\ty");
    zeros("reaches", "1\ttime\ttime.time\n");
    let trace = world.add(&part).unwrap();
    assert_eq!(world.lines(trace), [10, 20, 10]);
    assert_eq!(world.archive.strands(trace)[0].truncated, None, "where a whole process dies its threads end there");
    assert_eq!((world.archive.values((trace, 0)).len(), world.archive.reaches().len()), (1, 1));
    assert_eq!(world.archive.gaps(), [""; 0]);
}

#[test]
fn the_archive_leaves_no_files() {
    let mut world = TestProject::new();
    world.trace(&[(1, 10)], &[1; 50_000]);
    assert_eq!(fs::read_dir(world.root.path().join("archive")).unwrap().count(), 0);
}

/// Long enough for several blocks, with few changes of the line so that they compress well.
fn long() -> impl Strategy<Value = Vec<u32>> {
    let runs = proptest::collection::vec((1u32..6, 1usize..20_000), 0..6);
    runs.prop_map(|runs| runs.into_iter().flat_map(|(id, times)| std::iter::repeat_n(id, times)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn archived_traces_round_trip_and_compare(
        one in long(), other in long(), same in 0usize..80_000, from in 0usize..90_000, most in 0usize..40_000,
    ) {
        let table: Vec<_> = (1..6).map(|id| (id, id + 10)).collect();
        let other: Vec<u32> = one.iter().copied().take(same).chain(other).collect();
        let mut world = TestProject::new();
        let (first, second) = (world.trace(&table, &one), world.trace(&table, &other));
        let expected: Vec<u32> = other.iter().map(|id| id + 10).collect();
        prop_assert_eq!(world.lines(second), &expected[..]);
        let part = world.archive.lines((second, 0), from as u64, most);
        let part: Vec<u32> = part.into_iter().map(|id| world.archive.line(id).line).collect();
        prop_assert_eq!(part, expected.iter().skip(from).take(most).copied().collect::<Vec<_>>());
        let common = one.iter().zip(&other).take_while(|(one, other)| one == other).count() as u64;
        prop_assert_eq!(world.archive.common((first, 0), (second, 0)), common);
        prop_assert_eq!(world.archive.common((second, 0), (first, 0)), common);
        prop_assert_eq!(world.archive.common((first, 0), (first, 0)), one.len() as u64);
    }

    #[test]
    fn malformed_files_are_errors_and_no_panics(
        values in proptest::collection::vec(any::<u8>(), 0..200),
        lines in "([0-9]{0,20}\t[0-9]{0,12}\t[a-z\\\\]{0,4}(\t[a-z]{0,4})?\n?){0,5}",
        reaches in "([0-9]{0,12}\t(randomness|time|x)\t[a-z\t]{0,9}\n?){0,5}",
        noise in any::<bool>(),
    ) {
        let mut world = TestProject::new();
        let part = world.part(&[(1, 10)]);
        write_thread(&part.join("thread-1"), &head(), [1, 1, 2, 1]).unwrap();
        let values = if noise { values } else { lines.into_bytes() };
        fs::write(part.join("values-1"), values).unwrap();
        fs::write(part.join("reaches"), reaches).unwrap();
        let trace = world.add(&part).unwrap();
        prop_assert_eq!(world.lines(trace), [10, 10, 10]);
        for seen in world.archive.values((trace, 0)) {
            prop_assert!(seen.at <= 3);
        }
    }
}
