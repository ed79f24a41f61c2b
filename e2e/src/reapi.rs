//! A temporary server of the Remote Execution API with two workers on this machine. It ends with the
//! process that started it (`e2e/reapi_server.py`).

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock};

use crate::{Invocation, python, repository};

pub struct ReapiServer {
    dir: PathBuf,
    /// Without TLS, and with.
    ports: (u16, u16),
    #[allow(dead_code)]
    guard: Child,
    orders: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
}

/// The server of this process, started on first use. Without its programs the test fails instead of
/// being skipped.
pub fn reapi() -> &'static ReapiServer {
    static SERVER: OnceLock<ReapiServer> = OnceLock::new();
    SERVER.get_or_init(ReapiServer::start)
}

impl ReapiServer {
    /// A server of its own, for tests that kill parts of it.
    pub fn start() -> Self {
        let dir = tempfile::Builder::new().prefix("reapi").tempdir().expect("a directory can be made").keep();
        // PostgreSQL runs as another user.
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).expect("it is ours");
        let mut guard = Command::new(repository().join(".venvs/reapi/bin/python"))
            .arg(repository().join("e2e/reapi_server.py"))
            .arg(&dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this test needs BuildGrid; `python3 e2e/setup.py` installs it");
        let mut answers = BufReader::new(guard.stdout.take().expect("it is piped"));
        let orders = guard.stdin.take().expect("it is piped");
        let mut output = String::new();
        let ports = loop {
            let at = output.len();
            let length = answers.read_line(&mut output).expect("it prints text");
            assert!(length > 0, "BuildGrid does not start; `python3 e2e/setup.py` installs it: {output}");
            if let Some(ports) = output[at..].strip_prefix("ready ").and_then(|line| line.trim().split_once(' ')) {
                break ports;
            }
        };
        let port = |text: &str| text.parse().expect("it is a port");
        Self { dir, ports: (port(ports.0), port(ports.1)), guard, orders: Mutex::new((orders, answers)) }
    }

    /// Kills the server or a worker; with the worker, everything that runs there.
    pub fn kill(&self, name: &str) {
        self.order("kill", name);
    }

    pub fn start_again(&self, name: &str) {
        self.order("start", name);
    }

    fn order(&self, what: &str, name: &str) {
        let mut connection = self.orders.lock().expect("no test panics in here");
        let (orders, answers) = &mut *connection;
        writeln!(orders, "{what} {name}").and_then(|()| orders.flush()).expect("the guard is alive");
        let mut answer = String::new();
        answers.read_line(&mut answer).expect("the guard is alive");
        assert_eq!(answer, "done\n", "{what} {name}");
    }

    pub fn address(&self) -> String {
        format!("reapi://127.0.0.1:{}", self.ports.0)
    }

    /// The same server, which asks for a certificate here.
    pub fn secure_address(&self) -> String {
        format!("reapis://localhost:{}", self.ports.1)
    }

    /// A file with a certificate or a key, such as `ca.crt` and `client.key`.
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// The workers that run an action now.
    pub fn busy_workers(&self) -> Vec<&'static str> {
        let is_busy = |name: &&str| {
            let entries = fs::read_dir(self.dir.join(name)).into_iter().flatten().flatten();
            entries.into_iter().any(|entry| entry.path().join("runs/r/w0/claimed").exists())
        };
        ["w1", "w2"].into_iter().filter(is_busy).collect()
    }
}

impl Invocation<'_> {
    /// Runs its sessions on the workers of a server, which have the interpreter of the tests.
    pub fn on_server(self, server: &ReapiServer) -> Self {
        let environment = python().parent().and_then(Path::parent).expect("it is in bin/");
        let base = python().canonicalize().expect("it exists");
        let base = base.parent().and_then(Path::parent).expect("it is in bin/");
        let shared = format!("{}\n{}", environment.display(), base.display());
        self.env("UNFLAKE_ENGINE", server.address())
            .env("UNFLAKE_ENGINE_DIRECTORY", server.dir.join("runs"))
            .env("UNFLAKE_ENGINE_NODE_DIRECTORY", server.dir.join("node"))
            .env("UNFLAKE_ENGINE_OPTIONS", "--test_env=PYTHONDONTWRITEBYTECODE")
            .env("UNFLAKE_ENGINE_SHARED", shared)
    }
}
