"""A server of the Remote Execution API with two workers on this machine: `reapi_server.py DIRECTORY`.

The server is BuildGrid, with PostgreSQL for its queue; a second port of it has TLS and asks for a client certificate.
BuildGrid's own worker cannot be had as a package, so `reapi_worker.py` speaks the protocol of its workers. Prints
"ready PORT TLS-PORT" once both workers wait for actions. Then each line of standard input is an order, answered by "done":
`kill NAME` and `start NAME` for server, w1 and w2. A killed worker loses what it runs, as a machine would. At the end of
standard input, so however the process that started it ends, everything ends, and the directory is removed.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

WORKERS = ["w1", "w2"]
CONFIGURATION = """\
server:
  - !channel
    address: 127.0.0.1:{ports[0]}
    insecure-mode: true
  - !channel
    address: 127.0.0.1:{ports[1]}
    insecure-mode: false
    credentials:
      tls-server-key: {place}/server.key
      tls-server-cert: {place}/server.crt
      tls-client-certs: {place}/ca.crt
connections:
  - !sql-connection &sql
    connection-string: postgresql+psycopg2://unflake@127.0.0.1:{ports[2]}/postgres
storages:
  - !disk-storage &storage
    path: {place}/storage
schedulers:
  - !sql-scheduler &scheduler
    sql: *sql
    storage: *storage
    property-set: !dynamic-property-set
      match-property-keys: [pool]
    bot-session-keepalive-timeout: 10
    session-expiry-timer-interval: 1
    max-job-attempts: 2
    assigners:
      - !priority-age-assigner
        count: 1
        interval: 0.05
        priority-assignment-percentage: 100
instances:
  - name: ''
    services: &services
      - !execution
        scheduler: *scheduler
      - !cas
        storage: *storage
      - !bytestream
        storage: *storage
thread-pool-size: 60
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def unprivileged(directory):
    """Words in front of a command that must not be root's, and whose directory this is."""
    if os.geteuid() != 0:
        return []
    user = next(user for user in ("postgres", "nobody") if subprocess.run(["id", user], capture_output=True).returncode == 0)
    shutil.chown(directory, user)
    group = subprocess.run(["id", "-g", user], check=True, capture_output=True, text=True).stdout.strip()
    return ["setpriv", "--reuid=" + user, "--regid=" + group, "--clear-groups", "--"]


class Server:
    def __init__(self, place):
        self.place, self.processes, self.ports = place, {}, free_ports(3)
        (place / "server.yml").write_text(CONFIGURATION.format(place=place, ports=self.ports))
        programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
        self.postgres = [str(path) for path in programs if (path / "initdb").exists()][-1]
        self.database = place / "database"
        self.database.mkdir()

    def make_certificates(self):
        def openssl(*words):
            subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=str(self.place))

        new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        (self.place / "names").write_text("subjectAltName=DNS:localhost\n")
        openssl("req", "-x509", *new, "-days", "2", "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=ca")
        for name in ("server", "client"):
            openssl("req", *new, "-keyout", name + ".key", "-out", name + ".csr", "-subj", "/CN=" + name)
            signed = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names"]
            openssl("x509", "-req", "-in", name + ".csr", *signed, "-out", name + ".crt")

    def start(self, name):
        python = Path(sys.executable)
        here = Path(__file__).resolve().parent
        environment = dict(os.environ)
        if name == "database":
            as_other = unprivileged(self.database)
            data = str(self.database / "data")
            make = ["initdb", "-D", data, "-U", "unflake", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"]
            words = [self.postgres + "/" + make[0], *make[1:]]
            subprocess.run(as_other + words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
            command = [self.postgres + "/postgres", "-D", data, "-p", str(self.ports[2]), "-k", str(self.database)]
            command = as_other + command + ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]
        elif name == "server":
            command = [str(python.with_name("bgd")), "server", "start", str(self.place / "server.yml")]
        else:
            environment["UNFLAKE_TEST_WORKER"] = self.mark(name)
            (self.place / name).mkdir(exist_ok=True)
            command = [str(python), str(here / "reapi_worker.py"), name, "127.0.0.1:%d" % self.ports[0], str(self.place / name)]
        with open(self.place / (name + ".out"), "ab") as log:
            self.processes[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, cwd="/", start_new_session=True
            )

    def mark(self, worker):
        return "%s/%s" % (self.place, worker)

    def kill(self, name):
        process = self.processes[name]
        process.send_signal(signal.SIGKILL if name != "database" else signal.SIGQUIT)
        process.wait()
        if name in WORKERS:
            self.kill_actions(name)

    def kill_actions(self, worker):
        """Kills what a worker runs: it has the mark of the worker in its environment."""
        mark = ("UNFLAKE_TEST_WORKER=" + self.mark(worker)).encode()
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    os.kill(int(process.name), signal.SIGKILL)
            except (OSError, ProcessLookupError):
                pass

    def wait_for(self, what, is_ready, *names):
        for _ in range(1200):
            if is_ready():
                return True
            ended = [name for name in names if self.processes[name].poll() is not None]
            if ended:
                break
            time.sleep(0.1)
        print(what, "never became ready")
        for name in names:
            print((self.place / (name + ".out")).read_text()[-2000:])
        return False

    def answers(self, port):
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", port)) == 0

    def run(self):
        self.make_certificates()
        self.start("database")
        program = [self.postgres + "/pg_isready", "-q", "-U", "unflake", "-h", str(self.database), "-p", str(self.ports[2])]
        if not self.wait_for("PostgreSQL", lambda: subprocess.run(program).returncode == 0, "database"):
            return
        address = "postgresql+psycopg2://unflake@127.0.0.1:%d/postgres" % self.ports[2]
        migrate = [str(Path(sys.executable).with_name("bgd")), "migrate", "apply", address]
        subprocess.run(migrate, check=True, stdout=subprocess.DEVNULL)
        self.start("server")
        if not self.wait_for("the server", lambda: self.answers(self.ports[0]), "server"):
            return
        for name in WORKERS:
            self.start(name)
        if not self.wait_for("a worker", lambda: all((self.place / name / "ready").exists() for name in WORKERS), *WORKERS):
            return
        print("ready", *self.ports[:2], flush=True)
        for line in sys.stdin:
            what, name = line.split()
            {"kill": self.kill, "start": self.start}[what](name)
            print("done", flush=True)

    def end(self):
        for name in reversed(list(self.processes)):
            self.kill(name)
        for _ in range(3):
            for name in WORKERS:
                self.kill_actions(name)
            time.sleep(0.05)
        shutil.rmtree(self.place, ignore_errors=True)


def main():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    server = Server(Path(sys.argv[1]))
    try:
        server.run()
    finally:
        server.end()


main()
