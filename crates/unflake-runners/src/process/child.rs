//! One child process: started, read, limited in time, and ended with everything that it started.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::driver::program::{OutputListener, ProgramEvent};
use crate::process::bounded_text::BoundedText;
use crate::process::spec::{EnvChanges, ExitKind, ProcessEnd, ProcessSpec, apply_env};

/// How often to check the clock, and whether a process has ended whose output another still has open.
const LOOK: Duration = Duration::from_millis(20);
/// How long to wait for output after the process has ended.
const AFTERWARDS: Duration = Duration::from_millis(100);
/// The shortest time between two reads of a slow writer: each read costs both sides a switch.
const GATHER: Duration = Duration::from_millis(1);
/// A longer line is passed on in pieces.
const LONGEST_LINE: usize = 64 << 10;

pub(crate) struct ChildLimits {
    pub(crate) time: Option<Duration>,
    /// Characters of one text.
    pub(crate) output: usize,
}

/// Runs a process to its end and passes on the events of its listener, as many as there are at a
/// time.
pub(crate) fn follow(
    start: &ProcessSpec,
    env_changes: &EnvChanges,
    limits: &ChildLimits,
    listener: &mut dyn OutputListener,
    mut report: impl FnMut(Vec<ProgramEvent>),
) -> io::Result<()> {
    let arm = |armed: bool| start.spawn.as_ref().map_or(Ok(()), |spawn| spawn.arm(armed));
    let mut report = |events: Vec<ProgramEvent>| {
        // Only tests are delayed, not what a runner does before the first one.
        if events.iter().any(|one| matches!(one, ProgramEvent::Started(_))) {
            let _ = arm(true);
        }
        report(events);
    };
    report(listener.begin());
    let began = Instant::now();
    let limit = limits.time.into_iter().chain(start.limit).min();
    let (mut child, mut streams) = spawn(start, env_changes, limits.output)?;
    let mut timed_out = false;
    let mut status = None;
    let mut ended_at: Option<Instant> = None;
    let mut checked = began;
    while streams.iter().any(|stream| stream.pipe.is_some()) {
        let readable = wait_for_output(&mut streams)?;
        let lines = streams.iter_mut().flat_map(OutputStream::read);
        report(lines.flat_map(|line| listener.line(&line)).collect());
        if status.is_none() && (!readable || checked.elapsed() > LOOK) {
            status = child.try_wait()?;
            checked = Instant::now();
            ended_at = status.map(|_| checked);
        }
        if ended_at.is_some_and(|at| at.elapsed() > AFTERWARDS) {
            break; // A process that it left behind has its output open.
        }
        let late = |since: Instant| limit.is_some_and(|limit| since.elapsed() > limit);
        if !timed_out && status.is_none() && listener.since().is_some_and(late) {
            timed_out = true;
            end_group(&child);
        }
        if readable && !streams.iter().any(|stream| stream.flows) {
            wait_for_end(&streams, GATHER)?;
        }
    }
    let status = match status {
        Some(status) => status,
        None => wait(&mut child, limit, began, &mut timed_out)?,
    };
    end_group(&child);
    let lines = streams.iter_mut().filter_map(OutputStream::last_line);
    report(lines.flat_map(|line| listener.line(&line)).collect());
    let text = |at: usize| streams.get(at).map(|stream| stream.kept.text()).unwrap_or_default();
    let _ = arm(false);
    let end = ProcessEnd {
        exit: if timed_out { ExitKind::TimedOut } else { exit(status) },
        stdout: text(0),
        stderr: text(1),
        seconds: began.elapsed().as_secs_f64(),
    };
    report(listener.end(&end));
    Ok(())
}

/// Waits for a process that has closed its output, within its time limit.
fn wait(child: &mut Child, limit: Option<Duration>, began: Instant, timed_out: &mut bool) -> io::Result<ExitStatus> {
    let mut pause = Duration::from_micros(50);
    // A process that exits closes its output in the same moment.
    let mut yields = 8;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if yields > 0 {
            yields -= 1;
            std::thread::yield_now();
            continue;
        }
        if !*timed_out && limit.is_some_and(|limit| began.elapsed() > limit) {
            *timed_out = true;
            end_group(child);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LOOK);
    }
}

fn spawn(start: &ProcessSpec, env_changes: &EnvChanges, output_limit: usize) -> io::Result<(Child, Vec<OutputStream>)> {
    if let (Some(prestarted), None) = (&start.prestarted, &start.spawn)
        && let Some((child, out, err)) = prestarted.begin()
    {
        let streams = [(out, true), (err, false)].map(|(pipe, lines)| OutputStream::new(pipe, output_limit, lines));
        return Ok((child, streams.into()));
    }
    let (from_out, out) = io::pipe()?;
    let mut command = command(start, env_changes)?;
    command.stdin(Stdio::null()).stdout(out.try_clone()?);
    let mut streams = vec![OutputStream::new(from_out.into(), output_limit, true)];
    if start.merged {
        command.stderr(out);
    } else {
        let (from_err, err) = io::pipe()?;
        command.stderr(err);
        streams.push(OutputStream::new(from_err.into(), output_limit, false));
    }
    let child = command.spawn()?;
    // Closes the driver's copies of the pipe ends that the process writes to.
    drop(command);
    Ok((child, streams))
}

/// The command for a process, without its pipes.
pub(crate) fn command(start: &ProcessSpec, env_changes: &EnvChanges) -> io::Result<Command> {
    let Some((program, arguments)) = start.words.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is nothing to start"));
    };
    let mut command = Command::new(program);
    command.args(arguments);
    // A process group of its own, so that it can be killed with everything it started.
    command.process_group(0);
    apply_env(&mut command, env_changes);
    apply_env(&mut command, &start.variables);
    if let Some(directory) = &start.directory {
        command.current_dir(directory);
    }
    if let Some(spawn) = &start.spawn {
        spawn.begin()?;
        spawn.prepare(&mut command);
    }
    Ok(command)
}

pub(crate) fn end_group(child: &Child) {
    let _ = killpg(Pid::from_raw(child.id() as i32), Signal::SIGKILL);
}

pub(crate) fn exit(status: ExitStatus) -> ExitKind {
    match (status.code(), status.signal()) {
        (Some(code), _) => ExitKind::Exit(code),
        (_, Some(signal)) => ExitKind::Signal(signal),
        _ => ExitKind::Exit(-1),
    }
}

/// Waits for output. Returns whether there is any.
fn wait_for_output(streams: &mut [OutputStream]) -> io::Result<bool> {
    let open = streams.iter().filter_map(|stream| stream.pipe.as_ref());
    let mut waiting: Vec<PollFd<'_>> = open.map(|pipe| PollFd::new(pipe.as_fd(), PollFlags::POLLIN)).collect();
    match poll(&mut waiting, PollTimeout::try_from(LOOK).unwrap_or(PollTimeout::MAX)) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => {}
        Err(error) => return Err(error.into()),
    }
    let ready: Vec<bool> = waiting
        .iter()
        .map(|one| one.revents().is_some_and(|events| events.intersects(PollFlags::POLLIN | PollFlags::POLLHUP)))
        .collect();
    drop(waiting);
    let any = ready.contains(&true);
    for (stream, ready) in streams.iter_mut().filter(|stream| stream.pipe.is_some()).zip(ready) {
        stream.ready = ready;
    }
    Ok(any)
}

/// Waits for this time, or until an output closes. Output does not end the wait.
fn wait_for_end(streams: &[OutputStream], time: Duration) -> io::Result<()> {
    let open = streams.iter().filter_map(|stream| stream.pipe.as_ref());
    let mut waiting: Vec<PollFd<'_>> = open.map(|pipe| PollFd::new(pipe.as_fd(), PollFlags::empty())).collect();
    if waiting.len() < streams.len() {
        return Ok(()); // A process that has closed an output is about to exit.
    }
    match poll(&mut waiting, PollTimeout::try_from(time).unwrap_or(PollTimeout::ZERO)) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// One of the outputs of a process.
struct OutputStream {
    pipe: Option<File>,
    ready: bool,
    /// Whether the last read filled the whole buffer.
    flows: bool,
    kept: BoundedText,
    /// Where lines are wanted: the beginning of an unfinished one.
    line: Option<Vec<u8>>,
}

impl OutputStream {
    fn new(pipe: OwnedFd, limit: usize, lines: bool) -> Self {
        Self {
            pipe: Some(pipe.into()),
            ready: false,
            flows: false,
            kept: BoundedText::new(limit),
            line: lines.then(Vec::new),
        }
    }

    /// Reads what is there and returns whole lines.
    fn read(&mut self) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        if !std::mem::take(&mut self.ready) {
            return lines;
        }
        let mut chunk = [0; 16 << 10];
        let count = self.pipe.as_mut().map_or(Ok(0), |pipe| pipe.read(&mut chunk)).unwrap_or(0);
        if count == 0 {
            (self.pipe, self.flows) = (None, false);
            return lines;
        }
        self.flows = count == chunk.len();
        self.kept.add(&chunk[..count]);
        let Some(begun) = &mut self.line else { return lines };
        for piece in chunk[..count].split_inclusive(|byte| *byte == b'\n') {
            begun.extend_from_slice(piece);
            if begun.ends_with(b"\n") {
                begun.pop();
                lines.push(std::mem::take(begun));
            } else if begun.len() > LONGEST_LINE {
                lines.push(std::mem::take(begun));
            }
        }
        lines
    }

    fn last_line(&mut self) -> Option<Vec<u8>> {
        self.line.take().filter(|line| !line.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps how a process ended.
    struct Witness {
        since: Instant,
        end: Option<(ExitKind, String, String)>,
    }

    impl OutputListener for Witness {
        fn since(&self) -> Option<Instant> {
            Some(self.since)
        }

        fn end(&mut self, end: &ProcessEnd) -> Vec<ProgramEvent> {
            self.end = Some((end.exit, end.stdout.clone(), end.stderr.clone()));
            Vec::new()
        }
    }

    fn run(script: &str, limit: Option<Duration>) -> (ExitKind, String, String) {
        let start = ProcessSpec { words: vec!["sh".into(), "-c".into(), script.into()], ..ProcessSpec::default() };
        let mut witness = Witness { since: Instant::now(), end: None };
        let limits = ChildLimits { time: limit, output: 1000 };
        follow(&start, &EnvChanges::new(), &limits, &mut witness, |_| {}).unwrap();
        witness.end.unwrap()
    }

    #[test]
    fn both_outputs_and_the_exit_are_read() {
        let end = run("echo out; echo err >&2; exit 3", None);
        assert_eq!(end, (ExitKind::Exit(3), "out\n".to_owned(), "err\n".to_owned()));
        assert_eq!(run("kill -SEGV $$", None).0, ExitKind::Signal(11));
    }

    #[test]
    fn time_runs_out_for_it_and_for_its_children() {
        let end = run("echo begun; sleep 600 & sleep 600", Some(Duration::from_millis(200)));
        assert_eq!((end.0, end.1.as_str()), (ExitKind::TimedOut, "begun\n"));
    }

    #[test]
    fn one_that_closes_its_output_and_goes_on_is_limited_too() {
        assert_eq!(run("exec >&- 2>&-; sleep 600", Some(Duration::from_millis(200))).0, ExitKind::TimedOut);
    }

    #[test]
    fn what_it_leaves_behind_does_not_keep_us() {
        let end = run("sleep 600 & echo done", None);
        assert_eq!((end.0, end.1.as_str()), (ExitKind::Exit(0), "done\n"));
    }

    #[test]
    fn what_it_leaves_behind_may_hold_one_output_only() {
        let end = run("sleep 600 >/dev/null & echo done", Some(Duration::from_secs(20)));
        assert_eq!((end.0, end.1.as_str()), (ExitKind::Exit(0), "done\n"));
        let end = run("sleep 600 2>/dev/null & echo done", Some(Duration::from_secs(20)));
        assert_eq!((end.0, end.1.as_str()), (ExitKind::Exit(0), "done\n"));
    }

    #[test]
    fn nothing_of_many_small_pieces_is_lost() {
        let (exit, stdout, stderr) = run("for n in $(seq 200); do echo $n; echo $n >&2; done", None);
        let all: String = (1..=200).map(|n| format!("{n}\n")).collect();
        assert_eq!((exit, stdout, stderr), (ExitKind::Exit(0), all.clone(), all));
    }

    #[test]
    fn a_flood_is_kept_in_bounds() {
        let (_, stdout, _) = run("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end", None);
        assert!(stdout.len() < 1100 && stdout.ends_with("x\nend\n"), "{}", stdout.len());
    }
}
