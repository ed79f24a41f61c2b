"""Ten million executions in PostgreSQL over TLS: how fast they come in, what they take, and how long pages take.

Usage: python3 bench/postgres_history.py [--tests N] [--runs N] [--importers N] [--seed N]
The server is started for this, with its own directory and `fsync` on; the reports need about 1 GB in the temporary directory.
"""

import argparse
import os
import pwd
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import history_score
import suites

PASSWORD = "bench"


class Server:
    """A PostgreSQL server with a certificate of its own, on a free port."""

    def __init__(self, place):
        self.bin = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
        self.place = place
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        # It refuses to run as root.
        self.prefix = []
        if os.getuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(place, user.pw_uid, user.pw_gid)
            self.prefix = ["setpriv", "--reuid=postgres", "--regid=%d" % user.pw_gid, "--clear-groups", "--"]
        self.run([self.bin / "initdb", "-D", place / "data", "-U", "unflake", "-A", "trust", "-E", "UTF8", "--locale=C"])
        key = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -keyout key.pem -out root.crt -subj /CN=localhost"
        self.run([*key.split(), "-addext", "subjectAltName=DNS:localhost"])
        self.run(["chmod", "600", "key.pem"])
        self.run(["sh", "-c", "echo 'local all all trust' >data/pg_hba.conf; echo 'hostssl all all all scram-sha-256' >>data/pg_hba.conf"])
        settings = ["ssl=on", "ssl_cert_file=%s/root.crt" % place, "ssl_key_file=%s/key.pem" % place, "listen_addresses=localhost"]
        options = [option for setting in settings for option in ("-c", setting)]
        command = [*self.prefix, self.bin / "postgres", "-D", place / "data", "-p", str(self.port), "-k", place, *options]
        self.process = subprocess.Popen(command, cwd=place, stdout=subprocess.DEVNULL, stderr=open(place / "log", "w"))
        while subprocess.run([self.bin / "pg_isready", "-q", "-h", place, "-p", str(self.port)]).returncode:
            time.sleep(0.1)
        self.ask("CREATE USER team PASSWORD '%s'; GRANT CREATE ON DATABASE postgres TO team" % PASSWORD)

    def run(self, command):
        subprocess.run([*self.prefix, *command], cwd=self.place, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(self, sql):
        command = [self.bin / "psql", "-h", self.place, "-p", str(self.port), "-U", "unflake", "-d", "postgres", "-qAtX", "-c", sql]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout.strip()

    def address(self, schema):
        """As a user over TCP, where the server must prove its name."""
        return "postgres://team:%s@localhost:%d/postgres?sslmode=verify-full&sslrootcert=%s/root.crt&schema=%s" % (
            PASSWORD, self.port, self.place, schema)

    def size(self, schema):
        sql = "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = '%s' AND c.relkind = 'r'"
        return int(self.ask(sql % schema))

    def stop(self):
        self.process.send_signal(2)
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--importers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--unflake", type=Path, help="another binary than that of these sources")
    parser.add_argument("--reports", type=Path, help="reports of an earlier call with the same numbers, or where to keep them")
    options = parser.parse_args()
    unflake = options.unflake
    if unflake is None:
        subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "unflake"], cwd=suites.ROOT, check=True)
        unflake = suites.TARGET / "release" / "unflake"
    truths = history_score.draw(options.tests, options.runs, options.seed)
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryDirectory() as home:
        place = Path(place)
        reports = options.reports or place / "reports"
        if not reports.exists():
            reports.mkdir()
            history_score.write(reports, truths, options.runs, options.seed)
        size = sum(report.stat().st_size for report in reports.iterdir())
        executions = options.tests * options.runs
        print("%d executions of %d tests in %d reports, %.0f MB" % (executions, options.tests, options.runs, size / 1e6))
        server = Server(Path(home))
        try:
            os.environ["UNFLAKE_STORE"] = server.address("one")
            _, took = history_score.timed([unflake, "history", "import", reports], cwd=place)
            print("one importer: %s, %.0f a second" % (took, executions / took.wall))
            taken = server.size("one")
            print("the history takes %.1f MB on the server, %.1f bytes an execution" % (taken / 1e6, taken / executions))
            _, took = history_score.timed([unflake, "history", "import", reports], cwd=place)
            print("once more, which adds nothing: %s" % took)
            _, took = history_score.timed([unflake, "history", "score"], cwd=place)
            print("all tests scored in %s" % took)
            begun = time.perf_counter()
            history_score.pages(unflake, place)
            print("pages, with the first reading: %.1f s in all" % (time.perf_counter() - begun))
            if options.importers > 1:
                os.environ["UNFLAKE_STORE"] = server.address("several")
                files = sorted(reports.iterdir())
                parts = [files[at :: options.importers] for at in range(options.importers)]
                begun = time.perf_counter()
                importers = [subprocess.Popen([unflake, "history", "import", "--quiet", *part], cwd=place) for part in parts]
                if any(importer.wait() for importer in importers):
                    sys.exit("an importer failed")
                took = time.perf_counter() - begun
                stored = int(server.ask("SELECT sum(executions) FROM several.report"))
                print("%d importers: %.1f s, %.0f a second; %d executions stored" % (options.importers, took, executions / took, stored))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
