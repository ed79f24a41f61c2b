//! The installed language runtimes, and how to ask a program of each.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use unflake_model::{FactorKind, ProbeAnswer, ProbeStep, World};
use unflake_worlds::OpenWorld;

/// Only against hangs.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The longest excerpt of an error.
const MAX_EXCERPT: usize = 100;

pub(crate) struct ProbedRuntime {
    /// With its version.
    pub(crate) name: String,
    /// The command that starts its interpreter. None: it has none.
    pub(crate) interpreter: Option<&'static str>,
    command: Vec<String>,
    /// A directory with a few files.
    names: PathBuf,
}

impl ProbedRuntime {
    /// What its program answers to one step of a probe.
    pub(crate) fn ask(&self, kind: FactorKind, step: &ProbeStep) -> ProbeAnswer {
        let start = Instant::now();
        let text = self.answer(kind, step);
        ProbeAnswer { text, took: start.elapsed() }
    }

    fn answer(&self, kind: FactorKind, step: &ProbeStep) -> Result<String, String> {
        let factor = step.setting.as_deref().map(|setting| kind.set(setting).map_err(|error| error.to_string()));
        let factors: Vec<_> = factor.into_iter().collect::<Result<_, _>>()?;
        let mut world = OpenWorld::new(&World::of(factors)).map_err(|error| error.to_string())?;
        world.load().map_err(|error| error.to_string())?;
        world.arm(true).map_err(|error| error.to_string())?;
        let mut command = match (step.question, self.interpreter) {
            ("path", Some(interpreter)) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", &format!("command -v {interpreter}")]);
                shell
            }
            _ => {
                let mut command = Command::new(&self.command[0]);
                command.args(&self.command[1..]).arg(step.question).arg(&self.names);
                command
            }
        };
        world.prepare(&mut command);
        output(command)
    }
}

/// The standard output of a program that must succeed in time.
fn output(mut command: Command) -> Result<String, String> {
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("it cannot be started: {error}"))?;
    let start = Instant::now();
    let read = |stream: Option<Box<dyn Read + Send>>| {
        thread::spawn(move || {
            let mut text = String::new();
            let _ = stream.map(|mut stream| stream.read_to_string(&mut text));
            text
        })
    };
    let stdout = read(child.stdout.take().map(|stream| Box::new(stream) as _));
    let stderr = read(child.stderr.take().map(|stream| Box::new(stream) as _));
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if start.elapsed() > TIMEOUT => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it did not answer within {} s", TIMEOUT.as_secs()));
            }
            None => thread::sleep(Duration::from_millis(2)),
        }
    };
    let (stdout, stderr) = (stdout.join().unwrap_or_default(), stderr.join().unwrap_or_default());
    if !status.success() {
        let mut lines = stderr.lines().rev().chain(stdout.lines());
        let last = lines.find(|line| !line.trim().is_empty()).unwrap_or("no output");
        return Err(format!("it ended with {status}: {}", last.chars().take(MAX_EXCERPT).collect::<String>()));
    }
    Ok(stdout.trim().to_owned())
}

pub(crate) fn find(command: &[String], place: &Path) -> io::Result<Vec<ProbedRuntime>> {
    let names = place.join("names");
    fs::create_dir(&names)?;
    // Created in an order that no setting asks for.
    for name in ["c", "a", "e", "b", "d"] {
        fs::write(names.join(name), "")?;
    }
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut found = Vec::new();
    let mut add = |name: String, interpreter, command| {
        found.push(ProbedRuntime { name, interpreter, command, names: names.clone() })
    };

    let python = python_of(command).unwrap_or_else(|| "python3".to_owned());
    if let Some(version) =
        version(&python, &["-c", "import platform as p; print(p.python_implementation(), p.python_version())"])
    {
        let script = place.join("tell.py");
        fs::write(&script, include_str!("tell.py"))?;
        add(version, Some("python3"), vec![python, text(&script)]);
    }
    if let Some(version) = version("java", &["--version"]) {
        let source = place.join("Tell.java");
        fs::write(&source, include_str!("Tell.java"))?;
        let compiled = Command::new("javac").arg("-d").arg(place).arg(&source).output();
        let compiled = compiled.is_ok_and(|output| output.status.success());
        let how = if compiled { vec!["-cp".to_owned(), text(place), "Tell".to_owned()] } else { vec![text(&source)] };
        let number = version.split_whitespace().nth(1).unwrap_or_default();
        add(format!("Java {number}"), Some("java"), [vec!["java".to_owned()], how].concat());
    }
    if let Some(version) = version("node", &["--version"]) {
        let script = place.join("tell.js");
        fs::write(&script, include_str!("tell.js"))?;
        add(format!("Node {}", version.trim_start_matches('v')), Some("node"), vec!["node".to_owned(), text(&script)]);
    }
    add("Rust".to_owned(), None, vec![text(&std::env::current_exe()?), "tell".to_owned()]);
    Ok(found)
}

fn version(program: &str, words: &[&str]) -> Option<String> {
    let output = Command::new(program).args(words).stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then(|| text.lines().next().unwrap_or_default().trim().to_owned())
}

/// The Python that a command starts: its first word, or the interpreter of that script.
fn python_of(command: &[String]) -> Option<String> {
    let first = command.first()?;
    let is_python =
        |path: &str| Path::new(path).file_name().is_some_and(|name| name.to_string_lossy().starts_with("python"));
    if is_python(first) {
        return Some(first.clone());
    }
    let places = std::env::var_os("PATH").unwrap_or_default();
    let path = match first.contains('/') {
        true => PathBuf::from(first),
        false => std::env::split_paths(&places).map(|place| place.join(first)).find(|path| path.is_file())?,
    };
    let mut head = [0; 256];
    let length = fs::File::open(path).ok()?.read(&mut head).ok()?;
    let line = String::from_utf8_lossy(&head[..length]).lines().next()?.strip_prefix("#!")?.trim().to_owned();
    is_python(&line).then_some(line)
}
