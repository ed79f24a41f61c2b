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
ssl() { openssl "$@" >>"$dir/log" 2>&1 || { cat "$dir/log"; rm -rf "$dir"; exit 1; }; }
cd "$dir"
umask 077
new="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
printf 'subjectAltName=DNS:localhost\n' >names
for ca in root other; do ssl req -x509 $new -days 2 -keyout $ca.key -out $ca.crt -subj /CN=$ca; done
for name in localhost by_cert; do
    ssl req $new -keyout $name.key -out $name.csr -subj /CN=$name
    ssl x509 -req -in $name.csr -CA root.crt -CAkey root.key -CAcreateserial -days 2 -extfile names -out $name.crt
done
# Variants of the certificate of the server, with the same key.
ssl x509 -req -in localhost.csr -CA root.crt -CAkey root.key -CAcreateserial -days -1 -extfile names -out expired.crt
ssl x509 -req -in localhost.csr -CA root.crt -CAkey root.key -CAcreateserial -days 2 -out version1.crt
ssl req -x509 -new -key localhost.key -days 2 -out own.crt -subj /CN=localhost -addext subjectAltName=DNS:localhost
chmod 644 *.crt by_cert.key
umask 022
cat >"$dir/data/pg_hba.conf" <<HBA
local all unflake trust
local all all scram-sha-256
hostssl all by_cert 127.0.0.1/32 cert
hostssl all only_plain 127.0.0.1/32 reject
hostnossl all only_tls 127.0.0.1/32 reject
host all older 127.0.0.1/32 md5
host all plain 127.0.0.1/32 password
host all all 127.0.0.1/32 scram-sha-256
HBA
# Tests change these; the command line would win over them.
printf "ssl = on\nssl_cert_file = '%s'\n" "$dir/localhost.crt" >>"$dir/data/postgresql.conf"
"$bin/postgres" -D "$dir/data" -p "$port" -k "$dir" -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=60 \
    -c ssl_key_file="$dir/localhost.key" -c ssl_ca_file="$dir/root.crt" \
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

/// A pooler in front of the server, which gives each transaction to one of two sessions.
const POOLER: &str = r#"
dir=$1 server=$2 server_port=$3 port=$4
trap '' INT TERM HUP
printf '"unflake" ""\n' >"$dir/users"
cat >"$dir/pgbouncer.ini" <<INI
[databases]
* = host=$server port=$server_port user=unflake
[pgbouncer]
listen_addr =
listen_port = $port
unix_socket_dir = $dir
auth_type = trust
auth_file = $dir/users
pool_mode = transaction
default_pool_size = 2
max_client_conn = 100
logfile = $dir/log
pidfile = $dir/pid
INI
"$5" -q "$dir/pgbouncer.ini" </dev/null >/dev/null 2>&1 &
pooler=$!
for _ in $(seq 600); do
    [ -S "$dir/.s.PGSQL.$port" ] && { echo ready; break; }
    kill -0 $pooler 2>/dev/null || { cat "$dir/log"; rm -rf "$dir"; exit 1; }
    sleep 0.1
done
exec >&- 2>&-
cat >/dev/null
# It ignores QUIT from a shell without job control, and has nothing to save.
kill -KILL $pooler
wait $pooler
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

/// A pooler in transaction mode, in front of [`server`].
pub struct Pooler {
    dir: PathBuf,
    port: u16,
    #[allow(dead_code)]
    guard: Child,
}

/// The pooler of this process, started on first use.
pub fn pooler() -> &'static Pooler {
    static POOLER: OnceLock<Pooler> = OnceLock::new();
    POOLER.get_or_init(Pooler::start)
}

/// The name of a new schema.
fn new_schema() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    format!("of_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed))
}

impl Pooler {
    /// The address of a new, empty history.
    pub fn address(&self) -> String {
        let (dir, port) = (self.dir.display(), self.port);
        format!("postgres://unflake@/postgres?host={dir}&port={port}&schema={}", new_schema())
    }

    fn start() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let program = std::env::split_paths(&path)
            .chain(["/usr/sbin".into()])
            .map(|dir| dir.join("pgbouncer"))
            .find(|program| program.exists())
            .expect("this test needs pgbouncer; `python3 e2e/setup.py` installs it");
        let (dir, port) = (new_dir(), free_port());
        let server = server();
        let mut command = guarded(POOLER, &dir);
        command.arg(&server.dir).arg(server.port.to_string()).arg(port.to_string()).arg(program);
        Self { guard: ready(command, "pgbouncer"), dir, port }
    }
}

impl PostgresServer {
    /// The address of a new, empty history.
    pub fn address(&self) -> String {
        self.address_of(&new_schema())
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

    /// A server of its own, for tests that change its configuration.
    pub fn start() -> Self {
        let bin = programs().expect("this test needs PostgreSQL; `python3 e2e/setup.py` installs it");
        let (dir, port) = (new_dir(), free_port());
        let mut command = guarded(GUARD, &dir);
        command.arg(&bin).arg(port.to_string());
        Self { guard: ready(command, "PostgreSQL"), dir, bin, port }
    }
}

fn new_dir() -> PathBuf {
    tempfile::Builder::new().prefix("pg").tempdir().unwrap().keep()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A script, with the directory that it removes at its end as its first argument.
fn guarded(script: &str, dir: &Path) -> Command {
    let mut command = unprivileged(dir);
    command.args(["sh", "-c", script, "sh"]).arg(dir);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).current_dir("/");
    command
}

/// Starts a guard, and waits until it says that its server is ready.
fn ready(mut command: Command, what: &str) -> Child {
    let mut child = command.spawn().unwrap();
    let mut output = String::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok) {
        if line == "ready" {
            return child;
        }
        output += &line;
        output += "\n";
    }
    let _ = child.wait();
    panic!("{what} does not start: {output}");
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
