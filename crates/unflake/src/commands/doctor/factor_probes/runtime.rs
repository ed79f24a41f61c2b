//! The runtimes that are here, and how each is asked.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use unflake_model::Factor;
use unflake_worlds::World;

/// Against hanging only.
const LONGEST: Duration = Duration::from_secs(60);

pub(crate) struct Runtime {
    /// With its version.
    pub(crate) name: String,
    /// By which it is usually called. None: it is no interpreter.
    pub(crate) called: Option<&'static str>,
    command: Vec<String>,
    /// A directory with some files in it.
    pub(crate) names: PathBuf,
}

pub(crate) struct Told {
    pub(crate) text: String,
    pub(crate) took: Duration,
}

impl Runtime {
    /// What the program says to this word under these factors; or why it says nothing.
    pub(crate) fn ask(&self, word: &str, factors: &[Factor]) -> Result<Told, String> {
        let mut under = World::new(factors).map_err(|cannot| cannot.to_string())?;
        under.load().map_err(|cannot| cannot.to_string())?;
        under.arm(true).map_err(|error| error.to_string())?;
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).arg(word).arg(&self.names);
        under.prepare(&mut command);
        let began = Instant::now();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("it cannot be started: {error}"))?;
        let read = |stream: Option<Box<dyn Read + Send>>| {
            thread::spawn(move || {
                let mut text = String::new();
                let _ = stream.map(|mut stream| stream.read_to_string(&mut text));
                text
            })
        };
        let said = read(child.stdout.take().map(|stream| Box::new(stream) as _));
        let errors = read(child.stderr.take().map(|stream| Box::new(stream) as _));
        let status = loop {
            match child.try_wait().map_err(|error| error.to_string())? {
                Some(status) => break status,
                None if began.elapsed() > LONGEST => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(format!("it did not answer within {} s", LONGEST.as_secs()));
                }
                None => thread::sleep(Duration::from_millis(2)),
            }
        };
        let took = began.elapsed();
        let (said, errors) = (said.join().unwrap_or_default(), errors.join().unwrap_or_default());
        if !status.success() {
            let last =
                errors.lines().rev().chain(said.lines()).find(|line| !line.trim().is_empty()).unwrap_or("no word");
            return Err(format!("it ends with {status}: {}", last.chars().take(100).collect::<String>()));
        }
        Ok(Told { text: said.trim().to_owned(), took })
    }
}

pub(crate) fn find(command: &[String], place: &Path) -> io::Result<Vec<Runtime>> {
    let names = place.join("names");
    fs::create_dir(&names)?;
    // Made in another order than any that is asked for.
    for name in ["c", "a", "e", "b", "d"] {
        fs::write(names.join(name), "")?;
    }
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut found = Vec::new();
    let mut add = |name: String, called, command| found.push(Runtime { name, called, command, names: names.clone() });

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

/// The Python that a command leads to: its first word, or the one in the first line of that file.
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
