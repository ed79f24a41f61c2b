//! A temporary PostgreSQL server that ends with the process that started it. The tests of the store
//! include this file too.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Stops the server and removes its files at the end of its standard input, so however the process
/// that started it ends.
const GUARD: &str = r#"
dir=$1 bin=$2 port=$3
trap '' INT TERM HUP
"$bin/initdb" -D "$dir/data" -U unflake -A trust --no-sync -E UTF8 --locale=C >"$dir/log" 2>&1 || { cat "$dir/log"; rm -rf "$dir"; exit 1; }
cat >"$dir/data/pg_hba.conf" <<HBA
local all unflake trust
local all all scram-sha-256
host all older 127.0.0.1/32 md5
host all plain 127.0.0.1/32 password
host all all 127.0.0.1/32 scram-sha-256
HBA
"$bin/postgres" -D "$dir/data" -p "$port" -k "$dir" -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=60 \
    </dev/null >>"$dir/log" 2>&1 &
server=$!
for _ in $(seq 600); do
    "$bin/pg_isready" -q -h "$dir" -p "$port" && { echo ready; break; }
    kill -0 $server 2>/dev/null || { cat "$dir/log"; rm -rf "$dir"; exit 1; }
    sleep 0.1
done
exec >&- 2>&-
cat >/dev/null
kill -QUIT $server
wait $server
rm -rf "$dir"
"#;

pub struct PostgresServer {
    dir: PathBuf,
    bin: PathBuf,
    port: u16,
    /// Keeps the standard input of the guard open.
    #[allow(dead_code)]
    guard: Child,
}

/// The server of this process, started on first use. Without PostgreSQL the test fails instead of
/// being skipped.
pub fn server() -> &'static PostgresServer {
    static SERVER: OnceLock<PostgresServer> = OnceLock::new();
    SERVER.get_or_init(PostgresServer::start)
}

impl PostgresServer {
    /// The address of a new, empty history.
    pub fn address(&self) -> String {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        self.address_of(&format!("of_{}_{number}", std::process::id()))
    }

    /// The address of the history in a schema.
    pub fn address_of(&self, schema: &str) -> String {
        format!("postgres://unflake@/postgres?host={}&port={}&schema={schema}", self.dir.display(), self.port)
    }

    /// The address over TCP, as a user with a password.
    pub fn address_as(&self, user: &str, password: &str, schema: &str) -> String {
        format!("postgres://{user}:{password}@127.0.0.1:{}/postgres?schema={schema}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The output of `psql` for this SQL, as the superuser.
    pub fn ask(&self, sql: &str) -> String {
        let output = Command::new(self.bin.join("psql"))
            .args(["-h", self.dir.to_str().unwrap(), "-p", &self.port.to_string()])
            .args(["-U", "unflake", "-d", "postgres", "-qAtX", "-v", "ON_ERROR_STOP=1", "-c", sql])
            .output()
            .unwrap();
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    fn start() -> Self {
        let bin = programs().expect("this test needs PostgreSQL; `python3 e2e/setup.py` installs it");
        let dir = tempfile::Builder::new().prefix("pg").tempdir().unwrap().keep();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = unprivileged(&dir);
        command.args(["sh", "-c", GUARD, "sh"]).arg(&dir).arg(&bin).arg(port.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).current_dir("/");
        let mut child = command.spawn().unwrap();
        let mut output = String::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok) {
            if line == "ready" {
                return Self { dir, bin, port, guard: child };
            }
            output += &line;
            output += "\n";
        }
        let _ = child.wait();
        panic!("PostgreSQL does not start: {output}");
    }
}

fn programs() -> Option<PathBuf> {
    let has_server =
        |dir: &PathBuf| dir.join("initdb").exists() && dir.join("postgres").exists() && dir.join("psql").exists();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut directories: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin")).collect();
    directories.sort();
    directories.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    directories.into_iter().find(has_server)
}

/// A command prefix that drops root privileges, because the server does not run as root.
fn unprivileged(dir: &Path) -> Command {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    if !is_root {
        return Command::new("env");
    }
    let exists = |user: &&&str| Command::new("id").arg(user).output().is_ok_and(|output| output.status.success());
    let user = ["postgres", "nobody"].iter().find(exists).expect("no user to run a server as");
    assert!(Command::new("chown").arg(user).arg(dir).status().unwrap().success());
    // The tests run as another user and need the socket.
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new("setpriv");
    command.arg(format!("--reuid={user}")).arg(format!("--regid={}", group(user))).args(["--clear-groups", "--"]);
    command
}

fn group(user: &str) -> String {
    let output = Command::new("id").args(["-g", user]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
