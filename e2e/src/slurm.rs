//! A temporary Slurm cluster with three nodes on this machine. It ends with the process that started
//! it (`e2e/slurm_cluster.py`).

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock};

use crate::{Invocation, python, repository};

pub struct SlurmCluster {
    dir: PathBuf,
    #[allow(dead_code)]
    guard: Child,
    orders: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
}

/// The cluster of this process, started on first use. Without Slurm the test fails instead of being
/// skipped.
pub fn slurm() -> &'static SlurmCluster {
    static CLUSTER: OnceLock<SlurmCluster> = OnceLock::new();
    CLUSTER.get_or_init(SlurmCluster::start)
}

impl SlurmCluster {
    /// A cluster of its own, for tests that kill parts of it.
    pub fn start() -> Self {
        let dir = tempfile::Builder::new().prefix("slurm").tempdir().expect("a directory can be made").keep();
        // Daemons refuse a directory that others can write.
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).expect("it is ours");
        let mut guard = Command::new("python3")
            .arg(repository().join("e2e/slurm_cluster.py"))
            .arg(&dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this test needs Slurm; `python3 e2e/setup.py` installs it");
        let mut answers = BufReader::new(guard.stdout.take().expect("it is piped"));
        let orders = guard.stdin.take().expect("it is piped");
        let mut output = String::new();
        while !output.ends_with("ready\n") {
            let length = answers.read_line(&mut output).expect("it prints text");
            assert!(length > 0, "Slurm does not start; `python3 e2e/setup.py` installs it: {output}");
        }
        Self { dir, guard, orders: Mutex::new((orders, answers)) }
    }

    /// Kills a daemon; with that of a node, everything that runs there.
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

    /// What a command of Slurm prints.
    pub fn ask(&self, words: &str) -> String {
        let mut words = words.split(' ');
        let mut command = Command::new(words.next().expect("there is a program"));
        let output = command.args(words).env("SLURM_CONF", self.dir.join("slurm.conf")).output();
        String::from_utf8(output.expect("Slurm is installed").stdout).expect("it prints text")
    }

    /// The nodes on which jobs run now.
    pub fn busy_nodes(&self) -> Vec<String> {
        let printed = self.ask("squeue --noheader --states=running --format=%N");
        printed.lines().map(str::to_owned).collect()
    }

    /// Temporary files of what runs in the cluster: a killed node leaves some.
    fn temporary(&self) -> PathBuf {
        let path = self.dir.join("tmp");
        fs::create_dir_all(&path).expect("it is ours");
        path
    }

    fn shared(&self) -> PathBuf {
        self.dir.join("shared")
    }
}

impl Invocation<'_> {
    /// Runs its sessions on a cluster. The interpreter of the tests is on all of its nodes.
    pub fn on(self, cluster: &SlurmCluster) -> Self {
        let environment = python().parent().and_then(Path::parent).expect("it is in bin/");
        let base = python().canonicalize().expect("it exists");
        let base = base.parent().and_then(Path::parent).expect("it is in bin/");
        let shared = format!("{}\n{}", environment.display(), base.display());
        self.env("SLURM_CONF", cluster.dir.join("slurm.conf"))
            .env("TMPDIR", cluster.temporary())
            .env("UNFLAKE_ENGINE", "slurm")
            .env("UNFLAKE_ENGINE_DIRECTORY", cluster.shared())
            .env("UNFLAKE_ENGINE_NODE_DIRECTORY", cluster.dir.join("node"))
            .env("UNFLAKE_ENGINE_SHARED", shared)
    }
}
