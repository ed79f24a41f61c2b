//! Drives the made-up runner of `docs/design/adding-a-runner.md` over a real socket.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::thread;

use unflake_protocol::{Outcome, to_line};

use super::*;
use crate::process::spec::EnvChanges;
use crate::registry::select;

const DOCUMENT: &str = include_str!("../../../../../docs/design/adding-a-runner.md");
const FOLDER: &str = include_str!("../../../tests/script/mod.rs");
const REGISTRY: &str = include_str!("../../registry.rs");
const LIBRARY: &str = include_str!("../../lib.rs");

#[test]
fn the_document_has_the_code_that_is_compiled_here() {
    let blocks: Vec<&str> = DOCUMENT.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let [folder, registry, library] = blocks[..] else { panic!("{} blocks of code", blocks.len()) };
    assert_eq!(folder, FOLDER);
    assert!(REGISTRY.contains(registry.trim().trim_start_matches("&")), "{registry}");
    assert!(LIBRARY.contains(library.trim()), "{library}");
}

#[test]
fn the_runner_of_the_document_lists_and_runs_tests() {
    let (project, run) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(project.path().join("bad.sh"), "echo half\necho of it >&2\nexit 3\n").unwrap();
    fs::write(project.path().join("good.sh"), "exit 0\n").unwrap();
    fs::write(project.path().join("notes.txt"), "").unwrap();
    let socket = run.path().join("s");
    let listener = UnixListener::bind(&socket).unwrap();
    let command = ["script-tests".to_owned(), project.path().to_string_lossy().into_owned()];
    let options = RunnerOptions::default();
    let (runner, driver) = select(&command, &options).driver().unwrap();
    let env = DriverEnv {
        socket,
        environment: 7,
        run_dir: run.path().to_owned(),
        output_limit: 1000,
        cache: None,
        shared: None,
        reuses: false,
        traced: false,
        values: false,
        records: false,
        layers: None,
        filter: false,
        restore: EnvChanges::new(),
        seeded: false,
        spawn: None,
    };
    thread::scope(|scope| {
        let driven = scope.spawn(|| super::run(runner, &driver, &command, &options, env));
        let (mut stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let mut next = || serde_json::from_str::<AgentMessage>(&lines.next().unwrap().unwrap()).unwrap();
        assert!(
            matches!(next(), AgentMessage::Hello(hello) if hello.runner == "script-tests" && hello.environment == 7)
        );
        let AgentMessage::Listed { tests } = next() else { panic!("no list") };
        assert_eq!(tests.iter().map(|listed| listed.test.id.as_str()).collect::<Vec<_>>(), ["bad", "good"]);
        assert_eq!(tests[0].test.command, ["sh", &*project.path().join("bad.sh").to_string_lossy()]);
        assert!(matches!(next(), AgentMessage::Ready { tests: 2, .. }));

        let run = r#"{"order":"run","tests":[1,0],"again":0,"jobs":1}"#;
        stream.write_all(format!("{run}\n").as_bytes()).unwrap();
        assert!(matches!(next(), AgentMessage::Start { n: 1, .. }));
        assert!(matches!(next(), AgentMessage::Done(result) if result.n == 1 && result.outcome == Outcome::Passed));
        assert!(matches!(next(), AgentMessage::Start { n: 0, .. }));
        let AgentMessage::Done(result) = next() else { panic!("no result") };
        assert_eq!((result.n, result.outcome), (0, Outcome::Failed));
        let failure = result.failure.unwrap();
        assert_eq!((failure.message.as_str(), result.stdout.as_str()), ("exited with code 3: of it", "half\n"));
        assert!(matches!(next(), AgentMessage::Idle));

        // A world of unflake that cannot be entered is no failure of the test.
        let plan = r#"{"parts":[],"namespaces":1,"user":null,"layers":"/","overlays":[],"empty":[],"through":[]}"#;
        let spawn = format!(r#"{{"variables":[],"limits":{{"own_network":false}},"private":{plan}}}"#);
        let run = RunOrder { spawn: Some(spawn), ..RunOrder::new(vec![1]) };
        stream.write_all(&to_line(&Order::Run(run))).unwrap();
        let mut message = next();
        if matches!(message, AgentMessage::Start { .. }) {
            message = next();
        }
        let AgentMessage::Problem { kind: ProblemKind::Protocol, text, .. } = message else { panic!("{message:?}") };
        assert!(text.starts_with("the process of good could not be started: "), "{text}");
        assert!(matches!(next(), AgentMessage::Idle));
        stream.write_all(&to_line(&Order::End { failed: Some(1) })).unwrap();
        assert!(matches!(next(), AgentMessage::Bye));
        assert_eq!(driven.join().unwrap(), ExitCode::FAILURE);
    });
}
