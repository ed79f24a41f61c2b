//! Round trips of the trace format, and errors for malformed files.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use unflake_observe::trace::{Frame, Places, ThreadHeader, TracedAttempt, Truncated, TruncationReason, write_thread};

const PROCESS: &str = "unflake-trace 1\npid 7\nparent 1\nstarted 5\nexecutable /bin/tests\nsomething new\n";

fn part(root: &Path) -> std::path::PathBuf {
    let part = root.join("7-1");
    fs::create_dir_all(&part).unwrap();
    fs::write(part.join("process"), PROCESS).unwrap();
    part
}

fn heads() -> impl Strategy<Value = ThreadHeader> {
    let why = prop_oneof![
        Just(None),
        (
            prop_oneof![
                Just(TruncationReason::ThreadLimit),
                Just(TruncationReason::AttemptLimit),
                Just(TruncationReason::Taken),
                any::<u32>().prop_map(TruncationReason::NoRoom)
            ],
            any::<u64>()
        )
            .prop_map(|(why, dropped)| Some(Truncated { why, dropped })),
    ];
    let way = proptest::option::of(proptest::collection::vec(any::<u32>(), 0..16));
    (1..u32::MAX, any::<u32>(), way, any::<u32>(), any::<u64>(), "[a-zé ]{0,20}", any::<bool>(), why).prop_map(
        |(number, parent, way, system, started, name, ended, truncated)| ThreadHeader {
            number,
            parent,
            way,
            system,
            started,
            name,
            ended,
            truncated,
        },
    )
}

fn frames() -> impl Strategy<Value = Frame> {
    ("[a-z/\t\n\r\\\\é.]{0,12}", any::<u32>(), "[a-z:<>\t\n\\\\]{0,12}").prop_map(|(file, line, function)| Frame {
        file: file.into(),
        line,
        function: function.into(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn threads_round_trip(head in heads(), ids in proptest::collection::vec(1..u32::MAX, 0..5000), zeros in 0usize..3) {
        let root = tempfile::tempdir().unwrap();
        let part = part(root.path());
        let padded = ids.iter().copied().chain(std::iter::repeat_n(0, zeros * 1000));
        write_thread(&part.join("thread-1"), &head, padded).unwrap();
        let attempt = TracedAttempt::open(root.path()).unwrap();
        let thread = &attempt.processes[0].threads[0];
        prop_assert_eq!(&thread.head, &head);
        let read: Result<Vec<u32>, _> = thread.places().unwrap().collect();
        prop_assert_eq!(read.unwrap(), ids);
    }

    #[test]
    fn tables_of_places_round_trip(
        table in proptest::collection::hash_map(any::<u32>(), proptest::collection::vec(frames(), 1..4), 0..40),
        notes in proptest::collection::vec("[a-z\n\t\\\\]{0,20}", 0..3),
        zeros in 0usize..70_000,
    ) {
        let root = tempfile::tempdir().unwrap();
        let mut places = Places::default();
        places.notes = notes;
        table.into_iter().for_each(|(id, frames)| places.insert(id, frames.into()));
        let path = root.path().join("places");
        places.write(&path).unwrap();
        prop_assert_eq!(Places::read(&path).unwrap(), places.clone());
        // The state that a killed process leaves.
        let mut text = std::fs::read(&path).unwrap();
        text.resize(text.len() + zeros, 0);
        std::fs::write(&path, text).unwrap();
        prop_assert_eq!(Places::read(&path).unwrap(), places);
    }

    #[test]
    fn malformed_files_are_errors_and_no_panics(
        thread in proptest::collection::vec(any::<u8>(), 0..600),
        keep in 0usize..300,
        places in proptest::collection::vec(any::<u8>(), 0..200),
        process in "(unflake-trace 1\n)?([a-z]{1,8} [0-9 a-z/]{0,30}\n){0,5}(module [0-9 ]{0,50} guards [0-9 ]{0,20}/x\n)?",
    ) {
        let root = tempfile::tempdir().unwrap();
        let part = part(root.path());
        // A valid header with garbage after or over it gets further than random bytes.
        write_thread(&part.join("thread-1"), &ThreadHeader::default(), [1, 2]).unwrap();
        let mut bytes = fs::read(part.join("thread-1")).unwrap();
        bytes.truncate(keep);
        bytes.extend(&thread);
        fs::write(part.join("thread-1"), bytes).unwrap();
        fs::write(part.join("thread-2"), &thread).unwrap();
        let mut table = b"unflake-places 1\n".to_vec();
        table.extend(places);
        fs::write(part.join("places"), table).unwrap();
        let other = root.path().join("8-1");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("process"), process).unwrap();

        let attempt = TracedAttempt::open(root.path()).unwrap();
        for process in &attempt.processes {
            let _ = process.places();
            for thread in &process.threads {
                let _ = thread.places().unwrap().count();
            }
        }
        unflake_observe::trace::Symboliser::new(root.path()).symbolise(&attempt).unwrap();
    }
}

#[test]
fn other_versions_are_errors() {
    let root = tempfile::tempdir().unwrap();
    let part = part(root.path());
    write_thread(&part.join("thread-1"), &ThreadHeader::default(), [1]).unwrap();
    let mut bytes = fs::read(part.join("thread-1")).unwrap();
    bytes[8] = 2;
    fs::write(part.join("thread-1"), bytes).unwrap();
    let attempt = TracedAttempt::open(root.path()).unwrap();
    let reason = &attempt.processes[0].lost[0];
    assert!(reason.ends_with("thread-1: written in version 2 of the format, and this is version 1"), "{reason}");

    fs::write(part.join("process"), "unflake-trace 2\n").unwrap();
    let attempt = TracedAttempt::open(root.path()).unwrap();
    assert!(attempt.problems[0].ends_with("not understood: \"unflake-trace 2\""), "{:?}", attempt.problems);
}

#[test]
fn a_truncated_number_is_an_error() {
    let root = tempfile::tempdir().unwrap();
    let part = part(root.path());
    write_thread(&part.join("thread-1"), &ThreadHeader::default(), [1, 2]).unwrap();
    let bytes = fs::read(part.join("thread-1")).unwrap();
    fs::write(part.join("thread-1"), &bytes[..bytes.len() - 1]).unwrap();
    let attempt = TracedAttempt::open(root.path()).unwrap();
    let read: Vec<_> = attempt.processes[0].threads[0].places().unwrap().collect();
    assert_eq!(read[0], Ok(1));
    assert!(read[1].as_ref().is_err_and(|error| error.to_string().ends_with("ends in the middle of a number")));
    assert_eq!(read.len(), 2);
}
