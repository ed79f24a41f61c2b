//! Sessions on a real Slurm cluster with three nodes: the same findings as here, and nothing lost or
//! counted twice when a part of it is killed.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, thread};

use e2e::{RunOutput, Sandbox, SlurmCluster, python, slurm};
use nix::sys::signal::Signal;
use serde_json::Value;

use super::{SHOP, SLOW, attempts, essences, machines};

fn search(sandbox: &Sandbox, words: &str, cluster: Option<&SlurmCluster>) -> RunOutput {
    let unflake = sandbox.unflake(words.split(' ')).json().args(["--", "python", "-m", "pytest"]);
    match cluster {
        Some(cluster) => unflake.on(cluster).finish(),
        None => unflake.finish(),
    }
}

fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < e2e::HANG, "never happened: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn searches_on_a_cluster_find_what_they_find_here() {
    let sandbox = Sandbox::with_tests(SHOP);
    for words in ["order --for 0 --seed 1", "nio --for 0"] {
        let (here, there) = (search(&sandbox, words, None), search(&sandbox, words, Some(slurm())));
        assert_eq!(there.code, 1, "{words}: {}\n{}", there.stdout, there.stderr);
        assert_eq!(essences(&here), essences(&there), "{words}");
        assert!(machines(&here).is_empty());
        assert!(machines(&there).iter().all(|name| ["n1", "n2", "n3"].contains(name)), "{:?}", machines(&there));
        let names_machines = |finding: &Value| finding["sentence"].as_str().unwrap().contains("; on n");
        assert!(there.list("findings").iter().all(names_machines), "{words}: {}", there.json()["findings"]);
        let without = |finding: &Value| finding["sentence"].as_str().unwrap().contains("; on ");
        assert!(!here.list("findings").iter().any(without));
        // Inputs are sent once.
        let notes = there.remarks();
        assert!(notes.contains("inputs: "), "{notes}");
    }
    let again = search(&sandbox, "nio --for 0", Some(slurm())).remarks();
    assert!(again.contains(", of which 0.0 MB were sent"), "{again}");
}

#[test]
fn traces_and_layers_come_back_from_a_cluster() {
    let retry = Sandbox::specimen("divergence/python/retry_jitter");
    let located = retry
        .unflake(["locate", "test_refused_message_is_sent_again", "--for", "0"])
        .json()
        .args(["--", "python", "-m", "pytest"]);
    let located = located.on(slurm()).finish();
    let divergences = located.list("findings").iter().filter(|finding| finding["technique"] == "divergence").count();
    assert!(divergences > 0 && !machines(&located).is_empty(), "{}\n{}", located.stdout, located.stderr);

    let sandbox = Sandbox::with_tests(
        "import random\ndef test_varies():\n    for number in range(random.randint(1, 9)):\n        print(number)\n",
    );
    let measured = search(&sandbox, "measure --runs 4 --for 0", Some(slurm()));
    let branches = measured.list("findings").iter().filter(|finding| finding["technique"] == "layer").count();
    assert!(branches > 0 && !machines(&measured).is_empty(), "{}\n{}", measured.stdout, measured.stderr);
    assert_eq!(attempts(&measured).into_values().collect::<Vec<_>>(), [4]);
}

#[test]
fn what_runs_on_a_cluster_changes_nothing_here() {
    let sandbox = Sandbox::with_tests(
        "import pathlib\n\
         def test_writes():\n    \
         place = pathlib.Path('written')\n    assert not place.exists()\n    place.write_text('x')\n",
    );
    // Without this capability root needs a user namespace, as other users do. Those cannot give it up.
    let unprivileged = "setpriv\n--bounding-set=-sys_admin";
    for wrapper in ["", unprivileged].into_iter().take(if nix::unistd::geteuid().is_root() { 2 } else { 1 }) {
        let words = ["measure", "--runs", "2", "--layer", "verdict", "--for", "0", "--", "python", "-m", "pytest"];
        let unflake = sandbox.unflake(&words[..1]).json().args(&words[1..]).on(slurm());
        let result = unflake.env("UNFLAKE_ENGINE_WRAPPER", wrapper).finish();
        assert!(!machines(&result).is_empty(), "{}\n{}", result.stdout, result.stderr);
        assert_eq!(attempts(&result).into_values().collect::<Vec<_>>(), [2]);
        assert!(!sandbox.project().join("written").exists(), "the project of the user was written");
    }
}

#[test]
fn workers_of_one_machine_do_not_meet_in_temporary_files() {
    // Both fail where they run side by side and see each other's file.
    let sandbox = Sandbox::with_tests(
        "import os, pathlib, time, pytest\n\
         @pytest.mark.parametrize('number', range(6))\n\
         def test_alone(number):\n    \
         place = pathlib.Path('/tmp/unflake-clusters-fixed-name')\n    place.write_text(str(os.getpid()))\n    \
         time.sleep(0.3)\n    assert place.read_text() == str(os.getpid())\n    place.unlink()\n",
    );
    let result = search(&sandbox, "nio --thorough --no-state --for 0 --jobs 6", Some(slurm())).expect_exit(0);
    assert!(!machines(&result).is_empty(), "{}", result.remarks());
    assert!(
        result.list("findings").is_empty() && !result.remarks().contains("copy of the project"),
        "{}",
        result.remarks()
    );
    assert!(!Path::new("/tmp/unflake-clusters-fixed-name").exists());
}

#[test]
fn sessions_of_a_killed_node_run_elsewhere_and_count_once() {
    let cluster = SlurmCluster::start();
    let sandbox = Sandbox::with_tests(SLOW);
    let searching = ["nio", "--thorough", "--no-state", "--for", "0", "--jobs", "6"];
    let running = sandbox.unflake(searching).json().args(["--", "python", "-m", "pytest"]).on(&cluster).start();
    running.wait_until("nodes are busy", || cluster.busy_nodes().len() >= 3);
    // Workers have started, and run sessions.
    thread::sleep(Duration::from_secs(3));
    cluster.kill("n2");
    let result = running.finish().expect_exit(0);
    let counts = attempts(&result);
    assert_eq!(counts.len(), 24, "{counts:?}");
    assert!(counts.values().all(|count| *count == 2), "{counts:?}\n{}", result.stderr);
    assert!(machines(&result).len() >= 2, "{:?}", machines(&result));
}

#[test]
fn a_killed_controller_delays_nothing() {
    let cluster = SlurmCluster::start();
    let sandbox = Sandbox::with_tests(SLOW);
    let searching = ["nio", "--thorough", "--no-state", "--for", "0", "--jobs", "6"];
    let running = sandbox.unflake(searching).json().args(["--", "python", "-m", "pytest"]).on(&cluster).start();
    running.wait_until("nodes are busy", || cluster.busy_nodes().len() >= 2);
    cluster.kill("slurmctld");
    thread::sleep(Duration::from_secs(2));
    cluster.start_again("slurmctld");
    let result = running.finish().expect_exit(0);
    let counts = attempts(&result);
    assert!(counts.len() == 24 && counts.values().all(|count| *count == 2), "{counts:?}\n{}", result.stderr);
}

#[test]
fn workers_of_a_killed_unflake_end() {
    let cluster = SlurmCluster::start();
    let sandbox = Sandbox::with_tests(SLOW);
    let searching = ["nio", "--thorough", "--no-state", "--for", "0", "--jobs", "6"];
    let running = sandbox.unflake(searching).args(["--", "python", "-m", "pytest"]).on(&cluster).start();
    running.wait_until("nodes are busy", || cluster.busy_nodes().len() >= 2);
    thread::sleep(Duration::from_secs(2));
    running.signal(Signal::SIGKILL);
    // Checks that no process of the sandbox is left, on any node.
    let result = running.finish();
    assert_eq!(result.code, -9);
    wait_until("the jobs end", || cluster.busy_nodes().is_empty());
}

#[test]
fn without_a_usable_cluster_sessions_run_here_and_a_note_says_why() {
    let sandbox = Sandbox::with_tests("def test_ok():\n    pass\n");
    let measuring = |options: &str, path: Option<&Path>| {
        let words = ["measure", "--runs", "2", "--layer", "verdict", "--for", "0"];
        let unflake = sandbox.unflake(words).json().args(["--", "python", "-m", "pytest"]).on(slurm());
        let unflake = unflake.env("UNFLAKE_ENGINE_OPTIONS", options);
        path.into_iter().fold(unflake, |unflake, path| unflake.env("PATH", path)).finish().expect_exit(0)
    };
    let wrong = measuring("--partition=nowhere", None);
    assert!(wrong.remarks().contains("sessions ran on this machine: sbatch: "), "{}", wrong.remarks());
    assert_eq!((attempts(&wrong)["test_it.py::test_ok"], machines(&wrong).len()), (2, 0));

    let only_python = python().parent().expect("it is in a directory");
    let missing = measuring("", Some(only_python));
    assert!(missing.remarks().contains("sbatch is not installed here"), "{}", missing.remarks());
    assert_eq!((attempts(&missing)["test_it.py::test_ok"], machines(&missing).len()), (2, 0));
}

#[test]
fn doctor_tries_the_cluster() {
    let sandbox = Sandbox::with_tests("def test_ok():\n    pass\n");
    let doctor = |options: &str| {
        let unflake = sandbox.unflake(["doctor"]).args(["--", "python", "-m", "pytest"]).on(slurm());
        unflake.env("UNFLAKE_ENGINE_OPTIONS", options).finish()
    };
    let good = doctor("").expect_exit(0);
    assert!(good.stdout.contains("3 nodes, 6 processors"), "{}", good.stdout);
    assert!(good.stdout.contains("a test ran on n"), "{}", good.stdout);
    let bad = doctor("--constraint=nothing");
    assert!(bad.code != 0 && bad.stdout.contains("✗ sessions"), "{}", bad.stdout);
}

#[test]
fn a_virtual_environment_is_sent_and_used() {
    let sandbox = Sandbox::with_tests("import sent\ndef test_sent():\n    assert sent.VALUE == 7\n");
    // It exists only here, outside of the project.
    let environment: PathBuf = sandbox.root().join("environment");
    let site = fs::read_dir(python().parent().unwrap().parent().unwrap().join("lib")).unwrap().next().unwrap().unwrap();
    let site = site.path().join("site-packages");
    let made = sandbox.command(python()).args(["-m", "venv", "--without-pip"]).arg(&environment).status().unwrap();
    assert!(made.success());
    let packages = environment.join("lib").join(site.parent().unwrap().file_name().unwrap()).join("site-packages");
    fs::write(packages.join("other.pth"), site.to_str().unwrap()).unwrap();
    fs::write(packages.join("sent.py"), "VALUE = 7\n").unwrap();
    let words = ["measure", "--runs", "2", "--layer", "verdict", "--for", "0"];
    let program = environment.join("bin/python");
    let unflake = sandbox.unflake(words).json().arg("--").arg(&program).args(["-m", "pytest"]).on(slurm());
    let result = unflake.finish().expect_exit(0);
    assert!(!machines(&result).is_empty(), "{}", result.remarks());
    let kept = fs::read_to_string(packages.join("sent.py")).unwrap();
    assert_eq!((kept.as_str(), attempts(&result)["test_it.py::test_sent"]), ("VALUE = 7\n", 2));
}
