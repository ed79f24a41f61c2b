"""Kills parts of a cluster while sessions run on it, and checks that every attempt counts once.

`python3 bench/cluster_kills.py UNFLAKE PYTHON KILLS [SEED] [slurm|reapi]` starts a Slurm cluster of three nodes, or a server
of the Remote Execution API with two workers, and searches slow tests on it again and again. It kills nodes or workers, the
controller or server, single processes of workers, and unflake itself at random times. Each search that was not killed must
have exactly two attempts of every test. Prints one line for each search, and the totals.
"""

import collections
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = 24
SUITE = """\
import time, pytest

@pytest.mark.parametrize("number", range(%d))
def test_slow(number):
    time.sleep(0.3)
""" % TESTS
KINDS = ["node", "node", "controller", "worker", "worker", "unflake"]


class Cluster:
    nodes, controller = ["n1", "n2", "n3"], "slurmctld"

    def __init__(self, place):
        self.place = place
        self.start([sys.executable, str(ROOT / "e2e/slurm_cluster.py"), str(place)])

    def start(self, command):
        """Returns the words after "ready"."""
        self.guard = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        first = self.guard.stdout.readline().split()
        if first[:1] != ["ready"]:
            sys.exit("it does not start: %s %s" % (first, self.guard.stdout.read()))
        return first[1:]

    def settings(self):
        return {"SLURM_CONF": str(self.place / "slurm.conf"), "UNFLAKE_ENGINE": "slurm"}

    def order(self, what, name):
        self.guard.stdin.write("%s %s\n" % (what, name))
        self.guard.stdin.flush()
        assert self.guard.stdout.readline() == "done\n"

    def resume(self):
        """A controller that lost its newest state gives numbers of jobs twice, and drains the nodes for it."""
        configuration = dict(os.environ, SLURM_CONF=str(self.place / "slurm.conf"))
        for node in ("n1", "n2", "n3"):
            command = ["scontrol", "update", "nodename=" + node, "state=resume"]
            subprocess.run(command, env=configuration, capture_output=True)

    def workers(self):
        """The processes of workers of this cluster."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
                if len(words) > 3 and words[1] == b"engine-worker" and self.is_mine(process, words):
                    found.append(int(process.name))
            except OSError:
                pass
        return found

    def is_mine(self, _process, words):
        return words[2].startswith(bytes(self.place.parent))

    def close(self):
        self.guard.stdin.close()
        self.guard.wait()


class Server(Cluster):
    nodes, controller = ["w1", "w2"], "server"

    def __init__(self, place):
        self.place = place
        place.chmod(0o755)
        place.parent.chmod(0o755)
        python = ROOT / ".venvs/reapi/bin/python"
        self.port = self.start([str(python), str(ROOT / "e2e/reapi_server.py"), str(place)])[0]

    def settings(self):
        return {"UNFLAKE_ENGINE": "reapi://127.0.0.1:" + self.port}

    def resume(self):
        pass

    def is_mine(self, process, _words):
        return bytes(self.place) in (process / "environ").read_bytes()


def kill(kind, cluster, unflake, rng):
    """Returns whether there was something to kill."""
    if kind == "node":
        node = rng.choice(cluster.nodes)
        cluster.order("kill", node)
        cluster.order("start", node)
    elif kind == "controller":
        cluster.order("kill", cluster.controller)
        time.sleep(rng.uniform(0, 2))
        cluster.order("start", cluster.controller)
    elif kind == "worker":
        workers = cluster.workers()
        if not workers:
            return False
        os.kill(rng.choice(workers), signal.SIGKILL)
    elif unflake.poll() is None:
        os.kill(unflake.pid, signal.SIGKILL)
    else:
        return False
    return True


def search(number, program, python, place, cluster, rng):
    """One search with up to three kills. Returns what was killed, and what is wrong with the result."""
    project, report = place / "project", place / "report.json"
    report.unlink(missing_ok=True)
    environment = dict(
        os.environ,
        **cluster.settings(),
        UNFLAKE_ENGINE_DIRECTORY=str(place / "shared"),
        UNFLAKE_ENGINE_NODE_DIRECTORY=str(place / "node"),
        UNFLAKE_ENGINE_SHARED="\n".join(str(Path(one).parent.parent) for one in (python, os.path.realpath(python))),
        TMPDIR=str(place / "tmp"),
        HOME=str(place / "home"),
        XDG_CACHE_HOME=str(place / "home/cache"),
    )
    command = [program, "nio", "--thorough", "--no-state", "--for", "0", "--jobs", "4", "--store", ":memory:"]
    command += ["--json", str(report), "--", python, "-m", "pytest"]
    with open(place / "output", "wb") as output:
        unflake = subprocess.Popen(command, cwd=project, env=environment, stdout=output, stderr=output)
        killed = []
        for _ in range(rng.randint(1, 3)):
            time.sleep(rng.uniform(0.5, 4))
            kind = rng.choice(KINDS)
            if unflake.poll() is None and kill(kind, cluster, unflake, rng):
                killed.append(kind)
        try:
            code = unflake.wait(timeout=300)
        except subprocess.TimeoutExpired:
            unflake.kill()
            return killed, "it hangs"
    if "unflake" in killed:
        return killed, None if code == -signal.SIGKILL else "exit code %d" % code
    if code != 0:
        return killed, "exit code %d: %s" % (code, (place / "output").read_text()[-600:])
    result = json.loads(report.read_text())
    counts = collections.Counter(attempt["test"] for attempt in result["attempts"])
    wrong = {test: count for test, count in counts.items() if count != 2}
    if len(counts) != TESTS or wrong:
        return killed, "%d tests, of which %s" % (len(counts), wrong)
    return killed, None


def main():
    program, python, wanted = sys.argv[1], sys.argv[2], int(sys.argv[3])
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="kills") as directory:
        place = Path(directory)
        for name in ("project", "tmp", "home", "cluster"):
            (place / name).mkdir()
        (place / "project/test_slow.py").write_text(SUITE)
        cluster = (Server if sys.argv[5:] == ["reapi"] else Cluster)(place / "cluster")
        total, harm, searches = collections.Counter(), [], 0
        began = time.monotonic()
        while sum(total.values()) < wanted:
            searches += 1
            cluster.resume()
            killed, wrong = search(searches, program, python, place, cluster, rng)
            total.update(killed)
            print("%3d %-40s %s" % (searches, " ".join(killed) or "nothing", wrong or "as expected"), flush=True)
            if wrong:
                harm.append(wrong)
        # What a killed unflake left must end by itself.
        since = time.monotonic()
        while cluster.workers() and time.monotonic() - since < 90:
            time.sleep(1)
        left = len(cluster.workers())
        cluster.close()
    seconds = time.monotonic() - began
    print("%d kills (%s) in %d searches, %.0f s: %d wrong results, %d workers left, load %.0f" % (
        sum(total.values()), ", ".join("%d of %s" % (count, kind) for kind, count in sorted(total.items())),
        searches, seconds, len(harm), left, os.getloadavg()[0]))
    sys.exit(bool(harm or left))


main()
