//! Sessions as actions of a real server of the Remote Execution API with two workers.

use std::thread;
use std::time::Duration;

use e2e::{ReapiServer, RunOutput, Sandbox, reapi};

use super::{SHOP, SLOW, attempts, essences, machines};

fn search(sandbox: &Sandbox, words: &str, server: Option<&ReapiServer>) -> RunOutput {
    let unflake = sandbox.unflake(words.split(' ')).json().args(["--", "python", "-m", "pytest"]);
    match server {
        Some(server) => unflake.on_server(server).finish(),
        None => unflake.finish(),
    }
}

#[test]
fn searches_on_a_server_find_what_they_find_here() {
    let sandbox = Sandbox::with_tests(SHOP);
    for words in ["order --for 0 --seed 1", "nio --for 0"] {
        let (here, there) = (search(&sandbox, words, None), search(&sandbox, words, Some(reapi())));
        assert_eq!(there.code, 1, "{words}: {}\n{}", there.stdout, there.stderr);
        assert_eq!(essences(&here), essences(&there), "{words}: {}", there.remarks());
        let names = machines(&there);
        assert!(!names.is_empty() && names.iter().all(|name| ["w1", "w2"].contains(name)), "{names:?}");
    }
    let again = search(&sandbox, "nio --for 0", Some(reapi())).remarks();
    assert!(again.contains(", of which 0.0 MB were sent"), "{again}");
}

#[test]
fn sessions_of_a_killed_worker_run_elsewhere_and_count_once() {
    let server = ReapiServer::start();
    let sandbox = Sandbox::with_tests(SLOW);
    let searching = ["nio", "--thorough", "--no-state", "--for", "0", "--jobs", "4"];
    let unflake = sandbox.unflake(searching).json().args(["--", "python", "-m", "pytest"]).on_server(&server);
    let running = unflake.start();
    running.wait_until("both workers are busy", || server.busy_workers().len() == 2);
    // Sessions run.
    thread::sleep(Duration::from_secs(2));
    server.kill("w1");
    let result = running.finish().expect_exit(0);
    let counts = attempts(&result);
    assert_eq!(counts.len(), 24, "{counts:?}\n{}", result.stderr);
    assert!(counts.values().all(|count| *count == 2), "{counts:?}\n{}", result.stderr);
    assert!(machines(&result).contains(&"w2"), "{:?}", machines(&result));
}

#[test]
fn a_killed_server_delays_nothing_but_results() {
    let server = ReapiServer::start();
    let sandbox = Sandbox::with_tests(SLOW);
    let searching = ["nio", "--thorough", "--no-state", "--for", "0", "--jobs", "4"];
    let unflake = sandbox.unflake(searching).json().args(["--", "python", "-m", "pytest"]).on_server(&server);
    let running = unflake.start();
    running.wait_until("a worker is busy", || !server.busy_workers().is_empty());
    server.kill("server");
    thread::sleep(Duration::from_secs(1));
    server.start_again("server");
    let result = running.finish().expect_exit(0);
    let counts = attempts(&result);
    assert!(counts.len() == 24 && counts.values().all(|count| *count == 2), "{counts:?}\n{}", result.stderr);
}

#[test]
fn doctor_tries_a_server_with_tls_and_says_why_it_cannot_be_used() {
    let sandbox = Sandbox::with_tests("def test_ok():\n    pass\n");
    let server = reapi();
    let doctor = |address: &str, options: &[String]| {
        let unflake = sandbox.unflake(["doctor", "--engine", address]).args(["--", "python", "-m", "pytest"]);
        unflake.on_server(server).env("UNFLAKE_ENGINE_OPTIONS", options.join("\n")).finish()
    };
    let option = |name: &str, file: &str| format!("{name}={}", server.file(file).display());
    let authority = option("--tls_certificate", "ca.crt");
    let own = [option("--tls_client_certificate", "client.crt"), option("--tls_client_key", "client.key")];
    let all = [&[authority.clone()][..], &own].concat();
    let good = doctor(&server.secure_address(), &all).expect_exit(0);
    assert!(good.stdout.contains("Remote Execution API 2."), "{}", good.stdout);
    assert!(good.stdout.contains("a test ran on w"), "{}", good.stdout);
    for (address, options) in [
        (server.secure_address(), vec![authority]),
        (server.secure_address(), own.to_vec()),
        ("reapi://127.0.0.1:9".to_owned(), Vec::new()),
        (server.address(), vec!["--remote_instance_name=none".to_owned()]),
        (server.address(), vec!["--remote_default_exec_properties=pool=none".to_owned()]),
    ] {
        let words = options.join(" ");
        let unflake = sandbox.unflake(["doctor", "--engine", &address]).args(["--", "python", "-m", "pytest"]);
        let unflake = unflake.on_server(server).env("UNFLAKE_ENGINE_OPTIONS", options.join("\n"));
        let bad = unflake.env("UNFLAKE_ENGINE_WAIT", "3s").finish();
        assert!(bad.code != 0 && bad.stdout.contains('✗'), "{address} {words}: {}", bad.stdout);
    }
}

#[test]
fn without_a_server_sessions_run_here_and_a_note_says_why() {
    let sandbox = Sandbox::with_tests("def test_ok():\n    pass\n");
    let words = ["measure", "--runs", "2", "--layer", "verdict", "--for", "0", "--engine", "reapi://127.0.0.1:9"];
    let result = sandbox.unflake(words).json().args(["--", "python", "-m", "pytest"]).finish().expect_exit(0);
    assert!(result.remarks().contains("sessions ran on this machine: "), "{}", result.remarks());
    assert_eq!((attempts(&result)["test_it.py::test_ok"], machines(&result).len()), (2, 0));
    let wrong = sandbox.unflake(words).env("UNFLAKE_ENGINE_OPTIONS", "--partition=short");
    let wrong = wrong.args(["--", "python", "-m", "pytest"]).finish();
    assert!(wrong.code == 2 && wrong.stderr.contains("--partition is not known"), "{} {}", wrong.code, wrong.stderr);
}
