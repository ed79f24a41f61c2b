//! A trace from an untrusted source: read without a panic, and consistent once read.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use unflake_model::Traces;
use unflake_observe::trace::{Project, ThreadHeader, TraceArchive, write_thread};

/// Stands between the files in what is fuzzed.
const NEXT: &[u8] = b"\n=====\n";

fuzz_target!(|bytes: &[u8]| {
    let root = tempfile::tempdir().unwrap();
    let part = root.path().join("attempt/7-1");
    fs::create_dir_all(&part).unwrap();
    fs::write(root.path().join("shop.py"), "").unwrap();
    let mut files = split(bytes).into_iter();
    // Without these lines a part is no part and a table no table; they are there so that more is tried than their absence.
    let beginnings: [(&str, &[u8]); 4] = [
        ("process", b"unflake-trace 1\npid 7\nstarted 5\n"),
        ("places", b"unflake-places 1\n1\tshop.py\t4\ttotal\n"),
        ("values-1", b"1\t1\tx\t5\n"),
        ("reaches", b""),
    ];
    for (name, beginning) in beginnings {
        fs::write(part.join(name), [beginning, files.next().unwrap_or_default()].concat()).unwrap();
    }
    write_thread(&part.join("thread-1"), &ThreadHeader::default(), [1, 2, 1]).unwrap();
    let mut thread = fs::read(part.join("thread-1")).unwrap();
    for (at, byte) in files.next().unwrap_or_default().iter().enumerate() {
        match thread.get_mut(at) {
            Some(there) => *there ^= byte,
            None => thread.push(*byte),
        }
    }
    fs::write(part.join("thread-1"), thread).unwrap();

    let mut archive = TraceArchive::new(root.path().join("archive")).unwrap();
    let project = Project::new(root.path());
    if let Ok(trace) = archive.add(&root.path().join("attempt"), &project) {
        for (at, strand) in archive.strands(trace).iter().enumerate() {
            let lines = archive.lines((trace, at), 0, usize::MAX);
            assert_eq!(lines.len() as u64, strand.events);
            assert_eq!(archive.common((trace, at), (trace, at)), strand.events);
            lines.iter().for_each(|line| drop(archive.line(*line)));
            assert!(archive.values((trace, at)).iter().all(|seen| seen.at <= strand.events));
        }
    }
    assert!(archive.error().is_none());
});

fn split(bytes: &[u8]) -> Vec<&[u8]> {
    let (mut parts, mut from) = (Vec::new(), 0);
    for at in 0..bytes.len() {
        if at >= from && bytes[at..].starts_with(NEXT) {
            parts.push(&bytes[from..at]);
            from = at + NEXT.len();
        }
    }
    parts.push(&bytes[from..]);
    parts
}
