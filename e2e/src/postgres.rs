//! A PostgreSQL server of our own, thrown away with the process that started it. Shared by the tests of the store, which include this
//! file.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Ends the server and removes its files when nobody holds the other end of its standard input any more: however the process that
/// started it has ended.
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

pub struct Server {
    dir: PathBuf,
    bin: PathBuf,
    port: u16,
    /// The end of its standard input is the end of the server.
    #[allow(dead_code)]
    guard: Child,
}

/// The server of this process, started when it is first asked for. Where it cannot be had the test fails: what it shows would
/// else be shown by nobody.
pub fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(Server::start)
}

impl Server {
    /// The address of a history of its own.
    pub fn address(&self) -> String {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        self.address_of(&format!("of_{}_{number}", std::process::id()))
    }

    /// The address of the history in a schema.
    pub fn address_of(&self, schema: &str) -> String {
        format!("postgres://unflake@/postgres?host={}&port={}&schema={schema}", self.dir.display(), self.port)
    }

    /// Over the network, as another user, who has a password.
    pub fn address_as(&self, user: &str, password: &str, schema: &str) -> String {
        format!("postgres://{user}:{password}@127.0.0.1:{}/postgres?schema={schema}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What the server answers to its own user, asked by PostgreSQL's own client.
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
        let bin =
            programs().expect("PostgreSQL is not here, and this test needs it: `python3 e2e/setup.py` installs it");
        let dir = tempfile::Builder::new().prefix("pg").tempdir().unwrap().keep();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = as_somebody(&dir);
        command.args(["sh", "-c", GUARD, "sh"]).arg(&dir).arg(&bin).arg(port.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).current_dir("/");
        let mut child = command.spawn().unwrap();
        let mut said = String::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok) {
            if line == "ready" {
                return Self { dir, bin, port, guard: child };
            }
            said += &line;
            said += "\n";
        }
        let _ = child.wait();
        panic!("PostgreSQL does not start: {said}");
    }
}

fn programs() -> Option<PathBuf> {
    let is_it =
        |dir: &PathBuf| dir.join("initdb").exists() && dir.join("postgres").exists() && dir.join("psql").exists();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut places: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin")).collect();
    places.sort();
    places.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    places.into_iter().find(is_it)
}

/// A command as another user where we are root: the server does not run as root.
fn as_somebody(dir: &Path) -> Command {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    if !is_root {
        return Command::new("env");
    }
    let is_there = |user: &&&str| Command::new("id").arg(user).output().is_ok_and(|output| output.status.success());
    let user = ["postgres", "nobody"].iter().find(is_there).expect("no user to run a server as");
    assert!(Command::new("chown").arg(user).arg(dir).status().unwrap().success());
    // Others have to get to the socket.
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new("setpriv");
    command.arg(format!("--reuid={user}")).arg(format!("--regid={}", group(user))).args(["--clear-groups", "--"]);
    command
}

fn group(user: &str) -> String {
    let output = Command::new("id").args(["-g", user]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
