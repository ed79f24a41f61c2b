//! Random kills: a signal at a random moment to unflake, a supervisor, a runner or a test. After
//! each the history can be read, nothing is left, no file has changed, and no verdict is wrong.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::panic;
use std::thread;
use std::time::{Duration, SystemTime};

use e2e::{RunOutput, RunningProcess, Sandbox};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const TESTS: &str = "import pathlib, subprocess, time\n\
     def test_passes(): time.sleep(0.1)\n\
     def test_fails(): assert 1 == 2\n\
     def test_starts_others(): subprocess.run(['sleep', '0.1'])\n\
     def test_writes():\n    \
         path = pathlib.Path(__file__).with_name('data.txt')\n    \
         text = path.read_text()\n    \
         path.write_text(text + 'more')\n    \
         time.sleep(0.1)\n    \
         path.write_text(text)\n";

const COMMANDS: [&str; 12] = [
    "run",
    "nio --for 4",
    "order --for 4",
    "stress --for 3",
    "measure --runs 2",
    "locate test_passes --runs 4 --for 5",
    "factors test_passes --factor locale --for 5",
    "filter learn --runs 2",
    "affected --learn --base HEAD",
    "trace test_passes",
    UNDER,
    IMPORT,
];
/// Those with a JSON report.
const WITH_REPORT: [&str; 8] = ["run", "nio", "order", "stress", "measure", "locate", "factors", "filter"];
/// It has the exit code of the command.
const UNDER: &str = "under --random-seed 4";
const IMPORT: &str = "history import report.xml";
/// Cases in the imported report: reading them takes about a second.
const CASES: usize = 20_000;
const SIGNALS: [Signal; 4] = [Signal::SIGKILL, Signal::SIGTERM, Signal::SIGINT, Signal::SIGSTOP];
const DEFAULT_KILLS: u32 = 15;

/// The process that gets the signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Unflake,
    Supervisor,
    Runner,
    Test,
}

const SIDES: [Side; 4] = [Side::Unflake, Side::Supervisor, Side::Runner, Side::Test];

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        // xorshift64
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// The processes below `ancestor`, with their command lines.
fn descendants(ancestor: u32) -> Vec<(u32, String)> {
    let parent_of = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse::<u32>().ok()
    };
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids: Vec<u32> = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    let parents: BTreeMap<u32, u32> = pids.into_iter().filter_map(|pid| Some((pid, parent_of(pid)?))).collect();
    let mut found = vec![ancestor];
    let mut at = 0;
    while at < found.len() {
        let parent = found[at];
        found.extend(parents.iter().filter(|one| *one.1 == parent).map(|one| *one.0));
        at += 1;
    }
    let command = |pid: &u32| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = |pid: u32| (pid, String::from_utf8_lossy(&command(&pid)).replace('\0', " "));
    found.into_iter().skip(1).map(text).collect()
}

/// A process of this side, if there is one now.
fn target(running: &RunningProcess<'_>, side: Side, random: &mut Random) -> Option<u32> {
    let all = descendants(running.id());
    let below = |is_one: &dyn Fn(&str) -> bool| -> Vec<u32> {
        all.iter().filter(|(_, command)| is_one(command)).map(|(pid, _)| *pid).collect()
    };
    let candidates = match side {
        Side::Unflake => vec![running.id()],
        Side::Supervisor => below(&|command| command.contains(" supervise ")),
        // A new process has the command line of unflake until it becomes another program.
        Side::Runner => below(&|command| command.starts_with("python ") && command.contains("pytest")),
        Side::Test => below(&|command| command.starts_with("sleep ")),
    };
    (!candidates.is_empty()).then(|| random.one_of(&candidates))
}

struct Kill {
    command: &'static str,
    side: Side,
    signal: Signal,
    moment: Duration,
}

/// Makes one kill. Whether the signal was sent, and what is wrong afterwards.
fn check(killed: &Kill, random: &mut Random) -> (bool, Result<(), String>) {
    let sandbox = Sandbox::with_tests(TESTS).file("data.txt", "data");
    sandbox.commit("start");
    let invocation = sandbox.unflake(killed.command.split(' '));
    let has_report = WITH_REPORT.iter().any(|name| killed.command.starts_with(name));
    let invocation = if has_report { invocation.json() } else { invocation };
    let running = match killed.command {
        IMPORT => {
            sandbox.write("report.xml", format!("<testsuite>{}</testsuite>", "<testcase name='a'/>".repeat(CASES)));
            invocation.start()
        }
        _ => invocation.args(["--", "python", "-m", "pytest"]).start(),
    };
    thread::sleep(killed.moment);
    // A process that has ended and is not waited for has no command line.
    let is_running = || fs::read(format!("/proc/{}/cmdline", running.id())).is_ok_and(|text| !text.is_empty());
    let pid = loop {
        match target(&running, killed.side, random) {
            None if is_running() => thread::sleep(Duration::from_millis(10)),
            found => break found.filter(|_| is_running()),
        }
    };
    let is_sent = pid.is_some_and(|pid| kill(Pid::from_raw(pid as i32), killed.signal).is_ok());
    if let (Some(pid), Signal::SIGSTOP) = (pid, killed.signal) {
        thread::sleep(Duration::from_millis(700));
        let _ = kill(Pid::from_raw(pid as i32), Signal::SIGCONT);
    }
    let is_killed = killed.side == Side::Unflake && killed.signal == Signal::SIGKILL;
    let result = if is_killed { finish_killed(running, &sandbox) } else { running.finish() };
    (is_sent, judge(killed, is_sent, &sandbox, &result))
}

/// Killed before it has started a supervisor, unflake leaves a directory to the next run that begins
/// a minute later. Anything else that is left is noticed by the next command in the sandbox.
fn finish_killed(running: RunningProcess<'_>, sandbox: &Sandbox) -> RunOutput {
    let result = running.finish_in_parallel();
    thread::sleep(Duration::from_secs(1));
    let old = SystemTime::now() - Duration::from_secs(120);
    let entries = fs::read_dir(sandbox.root().join("tmp")).unwrap().flatten();
    let of_runs = entries.filter(|one| one.file_name().as_encoded_bytes().starts_with(b"unflake-run-"));
    let mut is_left = false;
    for directory in of_runs {
        is_left = true;
        File::open(directory.path()).unwrap().set_modified(old).unwrap();
    }
    match is_left {
        true => drop(sandbox.unflake(["run", "--fresh", "0", "--", "python", "-m", "pytest"]).finish()),
        false => drop(sandbox.unflake(["config"]).finish().expect_exit(0)),
    }
    result
}

fn judge(killed: &Kill, is_sent: bool, sandbox: &Sandbox, result: &RunOutput) -> Result<(), String> {
    // It may have been killed before it made one.
    if sandbox.project().join(".unflake/history.db").exists() {
        sandbox.unflake(["history", "show"]).finish().expect_exit(0);
    }
    let changed = sandbox.git(&["status", "--porcelain", "--", "data.txt", "test_it.py"]);
    // Outside of searches nothing is restored: a killed test leaves what it wrote.
    let restores = killed.command.starts_with("nio") || killed.command.starts_with("order");
    if restores && !changed.is_empty() {
        return Err(format!("changed: {changed}"));
    }
    if sandbox.git(&["worktree", "list"]).lines().count() != 1 {
        return Err("a worktree is left".to_owned());
    }
    let is_undisturbed = !is_sent || killed.signal == Signal::SIGSTOP;
    // On a busy machine a budget may end before there is anything to conclude.
    let is_limited = killed.command.contains("--for");
    let codes: &[i32] = match (killed.side, killed.signal) {
        _ if is_limited && result.code == 3 => &[3],
        _ if is_undisturbed => &[0, 1],
        (Side::Runner | Side::Unflake, _) if killed.command == UNDER => &[1, 2, 130, 137, 143, -2, -9, -15],
        (Side::Unflake, Signal::SIGKILL) => &[-9, 0, 1],
        // Before unflake handles signals they end it as they end any process.
        (Side::Unflake, _) => &[130, -2, -15, 0, 1],
        // It has one runner, and no other to go on with.
        (Side::Supervisor, _) if killed.command.starts_with("trace") => &[0, 1, 4, 70],
        (Side::Supervisor, _) => &[0, 1, 70],
        _ => &[0, 1, 3, 4, 130],
    };
    let may_pass = !["run", UNDER].contains(&killed.command);
    if !codes.contains(&result.code) || result.code == 0 && !may_pass {
        return Err(format!("exit {}", result.code));
    }
    let Some(_) = &result.json else { return Ok(()) };
    let attempts = result.attempts();
    let has_crashed = |test: &str| attempts.iter().any(|one| one.starts_with(test) && one.contains("crashed"));
    for finding in result.findings() {
        let test = finding.split(' ').next().unwrap_or_default();
        let is_killed = matches!(killed.side, Side::Runner | Side::Test) && !is_undisturbed;
        let has_failed = attempts.iter().any(|one| one.starts_with(test) && one.contains(" failed "));
        // A process that a test started was killed: that the test fails is right.
        let is_right = test.ends_with("test_fails")
            || finding.ends_with(" none")
            || is_killed && (has_crashed(test) || has_failed);
        // Layers of runs differ by their nature.
        if !is_right && !killed.command.starts_with("measure") {
            return Err(format!("{finding} of {attempts:?}"));
        }
    }
    if killed.side == Side::Supervisor && attempts.iter().any(|one| one.contains("crashed")) {
        return Err(format!("a crash in {attempts:?}"));
    }
    Ok(())
}

fn make_kills(count: u32, seed: u64) {
    let mut random = Random(seed | 1);
    let mut made: BTreeMap<String, u32> = BTreeMap::new();
    let mut wrong = Vec::new();
    for number in 0..count {
        let killed = Kill {
            command: random.one_of(&COMMANDS),
            side: random.one_of(&SIDES),
            signal: random.one_of(&SIGNALS),
            moment: Duration::from_millis(random.below(1500) as u64),
        };
        let Kill { command, side, signal, moment } = &killed;
        let checked = panic::catch_unwind(panic::AssertUnwindSafe(|| check(&killed, &mut random)));
        let (is_sent, verdict) = checked.unwrap_or_else(|_| (true, Err("see the panic above".to_owned())));
        let kind = if is_sent { format!("{side:?} {signal}") } else { "none was there".to_owned() };
        println!("{kind} after {moment:?} of `{command}`");
        *made.entry(kind).or_default() += 1;
        if let Err(why) = verdict {
            let why = format!("kill {number}: {signal} to {side:?} after {moment:?} of `{command}`: {why}");
            println!("{why}");
            wrong.push(why);
        }
    }
    println!("{count} kills with seed {seed}: {made:#?}");
    assert!(wrong.is_empty(), "seed {seed}: {} of {count} did harm", wrong.len());
}

#[test]
fn a_few_random_kills_do_no_harm() {
    make_kills(DEFAULT_KILLS, RandomState::new().hash_one(0));
}

#[test]
#[ignore = "takes half an hour"]
fn many_random_kills_do_no_harm() {
    thread::scope(|scope| {
        for number in 0..4 {
            scope.spawn(move || make_kills(125, RandomState::new().hash_one(number)));
        }
    });
}
