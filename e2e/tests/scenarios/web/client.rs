//! A running `unflake serve` and an HTTP client for it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use e2e::{HANG, Sandbox, unflake};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use regex_lite::Regex;

pub(super) struct Served {
    child: Child,
    pub(super) port: u16,
    pub(super) token: String,
    /// The output after the address.
    rest: BufReader<std::process::ChildStdout>,
}

pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Served {
    /// Starts the server and waits for its address.
    pub(super) fn start(sandbox: &Sandbox) -> Self {
        Self::start_with(sandbox, &[])
    }

    pub(super) fn start_with(sandbox: &Sandbox, options: &[&str]) -> Self {
        let is_elsewhere = options.contains(&"--listen");
        let port: &[&str] = if is_elsewhere { &[] } else { &["--port", "0"] };
        let mut command = sandbox.command(unflake());
        command.arg("serve").args(port).args(options).env("TZ", "UTC").stdout(Stdio::piped());
        let mut child = command.spawn().expect("unflake can be started");
        let mut rest = BufReader::new(child.stdout.take().expect("standard output is piped"));
        let mut line = String::new();
        rest.read_line(&mut line).expect("it prints its address");
        let address = Regex::new(r"^  https?://127\.0\.0\.1:(\d+)/(?:\?token=([0-9a-f]{32}))?\n$").expect("a pattern");
        let found = address.captures(&line).unwrap_or_else(|| panic!("no address: {line:?}"));
        let token = found.get(2).map_or("", |token| token.as_str()).to_owned();
        assert_eq!(token.is_empty(), is_elsewhere, "a token is printed on this machine only");
        Self { child, port: found[1].parse().expect("a port"), token, rest }
    }

    pub(super) fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", self.port))
    }

    pub(super) fn json(&self, path: &str) -> serde_json::Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        assert!(answer.head.contains("content-type: application/json\r\n"), "{}", answer.head);
        serde_json::from_str(&answer.body).expect("JSON")
    }

    /// Repeats the request until the condition is true: a page may be out of date for a moment.
    pub(super) fn until(&self, path: &str, condition: impl Fn(&serde_json::Value) -> bool) {
        let began = Instant::now();
        loop {
            let reported = self.json(path);
            if condition(&reported) {
                return;
            }
            assert!(began.elapsed() < HANG, "never happened: {reported}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends a form with these headers.
    pub(super) fn post(&self, path: &str, headers: &str, form: &str) -> Answer {
        let (port, length) = (self.port, form.len());
        self.ask(&format!(
            "POST {path} HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Length: {length}\r\n{headers}\r\n{form}"
        ))
    }

    /// Sends a request, and reads until the server closes the connection.
    pub(super) fn ask(&self, request: &str) -> Answer {
        let request = request.replacen("\r\n", "\r\nConnection: close\r\n", 1);
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server listens");
        stream.write_all(request.as_bytes()).expect("the server reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("the answer is UTF-8");
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Answer { status, head: format!("{head}\r\n"), body: body.to_owned() }
    }

    /// Interrupts the server as Ctrl-C does. Returns the exit code and the output after the
    /// address.
    pub(super) fn stop(mut self) -> (Option<i32>, String) {
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGINT).expect("it is still there");
        let mut printed = String::new();
        self.rest.read_to_string(&mut printed).expect("UTF-8");
        (self.child.wait().expect("it ends").code(), printed)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Answer {
    /// The visible text: a line for each paragraph and each table row.
    pub(super) fn text(&self) -> String {
        let rules = [
            (r"(?s)<style>.*</style>", ""),
            (r"</(p|h1|h2|li|tr|dt|dd|summary|div)>", "\n"),
            (r"</t[dh]>", "  "),
            (r"<[^>]*>", ""),
            (r"\d+ (s|min|h|days) ago", "[AGE]"),
            (r"Written by unflake on [-0-9]+ [0-9:]+", "Written by unflake on [TIME]"),
        ];
        let text = rules.iter().fold(self.body.clone(), |text, (pattern, with)| {
            Regex::new(pattern).expect("a pattern").replace_all(&text, *with).into_owned()
        });
        let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
        let text = text.replace("&amp;", "&");
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join("\n")
    }
}
