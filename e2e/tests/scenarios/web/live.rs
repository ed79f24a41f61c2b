//! The stream of events of a run in progress.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use e2e::Sandbox;
use serde_json::Value;

use super::client::Served;

/// The next event of a stream: its name, id and data. None at its end.
fn next_event(stream: &mut impl BufRead) -> Option<(String, String, Value)> {
    let (mut name, mut id, mut data) = (String::new(), String::new(), String::new());
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).expect("UTF-8") == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some(("event", value)) => value.clone_into(&mut name),
            Some(("id", value)) => value.clone_into(&mut id),
            Some(("data", value)) => value.clone_into(&mut data),
            _ if line.trim_end().is_empty() && !name.is_empty() => {
                return Some((name, id, serde_json::from_str(&data).expect("JSON")));
            }
            // The head, the size of a chunk, or a sign of life.
            _ => {}
        }
    }
}

fn listen(served: &Served, run: &str, headers: &str) -> impl BufRead + use<> {
    let mut stream = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    let host = format!("Host: 127.0.0.1:{}", served.port);
    write!(stream, "GET /run/{run}/events HTTP/1.1\r\n{host}\r\nConnection: close\r\n{headers}\r\n").unwrap();
    let mut stream = BufReader::new(stream);
    let mut first = String::new();
    stream.read_line(&mut first).unwrap();
    assert_eq!(first, "HTTP/1.1 200 OK\r\n");
    stream
}

#[test]
fn a_run_in_progress_is_streamed_until_it_ends() {
    let tests = "
import os, time
def test_first(): pass
def test_slow():
    open('going', 'w').write('on')
    while not os.path.exists('end'): time.sleep(0.01)
    assert 1 == 2
";
    let sandbox = Sandbox::with_tests(tests);
    sandbox.run("", "python -m pytest -k first").expect_exit(0);
    let served = Served::start(&sandbox);
    let running = sandbox.run_invocation("--fresh 0 --immediate 0 --at-end 0", "python -m pytest").start();
    running.wait_for("going");
    let id = served.json("/inbox.json")["overall"]["going_on"]["id"].as_str().expect("it goes on").to_owned();
    let mut stream = listen(&served, &id, "");
    let (name, first, attempt) = next_event(&mut stream).expect("an attempt");
    assert_eq!((name.as_str(), attempt["test"].as_str()), ("attempt", Some("test_it.py::test_first")));
    assert_eq!((&attempt["outcome"], &attempt["purpose"]), (&"passed".into(), &"suite".into()));
    let (name, _, progress) = next_event(&mut stream).expect("progress");
    assert_eq!((name.as_str(), &progress["attempts"], &progress["listed"]), ("progress", &1.into(), &2.into()));

    // Nothing more until something happens.
    fs::write(sandbox.project().join("end"), "").unwrap();
    let (_, _, attempt) = next_event(&mut stream).expect("an attempt");
    assert_eq!(
        (attempt["test"].as_str(), attempt["outcome"].as_str()),
        (Some("test_it.py::test_slow"), Some("failed"))
    );
    running.finish_in_parallel().expect_exit(1);
    let rest: Vec<_> = std::iter::from_fn(|| next_event(&mut stream)).collect();
    let (name, _, end) = rest.last().expect("an end");
    assert_eq!((name.as_str(), &end["exit"]), ("end", &1.into()));

    // A reader that comes back goes on where it was, also after the end.
    let mut again = listen(&served, &id, &format!("Last-Event-ID: {first}\r\n"));
    let (_, _, attempt) = next_event(&mut again).expect("an attempt");
    assert_eq!(attempt["test"], "test_it.py::test_slow");
    assert!(std::iter::from_fn(|| next_event(&mut again)).any(|(name, ..)| name == "end"));
    assert_eq!(served.get("/run/99/events").status, 404);
    assert_eq!(served.stop().0, Some(0));
}
