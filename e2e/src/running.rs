use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::{Call, Ran, Story};

/// Against hanging only. Nothing here takes a tenth of it.
const DEADLINE: Duration = Duration::from_secs(150);
/// How long the system may take to clear away what has been killed.
const CLEARING: Duration = Duration::from_secs(15);

/// An unflake at work.
pub struct Running<'a> {
    story: &'a Story,
    child: Child,
    stdout: Option<JoinHandle<Vec<u8>>>,
    stderr: Option<JoinHandle<Vec<u8>>>,
    began: Instant,
}

impl<'a> Running<'a> {
    pub(crate) fn new(mut call: Call<'a>) -> Self {
        let mut child =
            call.command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("unflake can be started");
        let stdout = child.stdout.take().map(read_in_background);
        let stderr = child.stderr.take().map(read_in_background);
        Self { story: call.story, child, stdout, stderr, began: Instant::now() }
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).expect("unflake is still there");
    }

    /// Waits until a test has made this file in the project, with something in it, and reads it.
    pub fn wait_for(&self, name: &str) -> String {
        let path = self.story.project().join(name);
        loop {
            match fs::read_to_string(&path) {
                Ok(text) if !text.is_empty() => return text,
                _ => assert!(self.began.elapsed() < DEADLINE, "{name} never came"),
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until something is so.
    pub fn wait_until(&self, what: &str, is_so: impl Fn() -> bool) {
        while !is_so() {
            assert!(self.began.elapsed() < DEADLINE, "never came: {what}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for its end, and sees to it that nothing is left.
    pub fn end(self) -> Ran {
        self.finish(true)
    }

    /// Waits for its end while another unflake may still be at work in the same project.
    pub fn end_beside_others(self) -> Ran {
        self.finish(false)
    }

    fn finish(mut self, alone: bool) -> Ran {
        let status = loop {
            match self.child.try_wait().expect("a child can be waited for") {
                Some(status) => break status,
                None if self.began.elapsed() > DEADLINE => {
                    let _ = self.child.kill();
                    let said = self.stderr.take().map(JoinHandle::join).transpose().ok().flatten().unwrap_or_default();
                    panic!("no end after {DEADLINE:?}; it said:\n{}", String::from_utf8_lossy(&said));
                }
                None => thread::sleep(Duration::from_millis(5)),
            }
        };
        if alone {
            // Before the pipes are read to their ends, which whoever is left may still hold.
            assert_nothing_left(self.story.place());
        }
        let text = |stream: &mut Option<JoinHandle<Vec<u8>>>| {
            let bytes = stream.take().expect("read once").join().expect("reading does not panic");
            String::from_utf8(bytes).expect("unflake writes UTF-8")
        };
        let stdout = text(&mut self.stdout);
        let stderr = text(&mut self.stderr);
        Ran::new(self.story, status, stdout, stderr)
    }
}

fn read_in_background(mut stream: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        bytes
    })
}

/// No process that was started in this story is alive, and no directory of a run is there.
fn assert_nothing_left(place: &Path) {
    let began = Instant::now();
    loop {
        let mut left = processes_in(place);
        left.extend(directories_in(&place.join("tmp")));
        if left.is_empty() {
            return;
        }
        assert!(began.elapsed() < CLEARING, "left behind: {left:#?}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Living processes that have the place as working directory or in their environment. Whatever a story starts has, unless
/// it takes pains not to.
fn processes_in(place: &Path) -> Vec<String> {
    let needle = place.as_os_str().as_encoded_bytes();
    let is_ours = |process: &Path| {
        let cwd = fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(place));
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        cwd || environment.windows(needle.len()).any(|window| window == needle)
    };
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|process| is_ours(process))
        .map(|process| {
            let command = fs::read(process.join("cmdline")).unwrap_or_default();
            format!("{}: {}", process.display(), String::from_utf8_lossy(&command).replace('\0', " "))
        })
        .collect()
}

fn directories_in(temporary: &Path) -> Vec<String> {
    let entries = fs::read_dir(temporary).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with("unflake-"))
        .collect()
}
