"""A Slurm cluster with three nodes on this machine: `slurm_cluster.py DIRECTORY`.

Prints "ready" once all nodes are idle. Then each line of its standard input is an order, answered by "done": `kill NAME` and
`start NAME` for munged, slurmctld, n1, n2 and n3. A killed node loses its tasks, as a machine would. At the end of its
standard input, so however the process that started it ends, the cluster and everything that runs in it end, and the
directory is removed.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

NODES = ["n1", "n2", "n3"]
CONFIGURATION = """\
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={place}/munge.socket
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool-%n
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd-%n.pid
SlurmctldPort={ports[0]}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=2
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=20
MessageTimeout=5
KillWait=2
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=shut Nodes=ALL State=DOWN
"""


class Cluster:
    def __init__(self, place):
        self.place = place
        self.processes = {}
        self.environment = dict(os.environ, SLURM_CONF=str(place / "slurm.conf"))
        sockets = [socket.socket() for _ in range(len(NODES) + 1)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        ports = [one.getsockname()[1] for one in sockets]
        for one in sockets:
            one.close()
        nodes = [
            "NodeName=%s NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=2 State=UNKNOWN" % (name, socket.gethostname(), port)
            for name, port in zip(NODES, ports[1:])
        ]
        user = subprocess.run(["id", "-un"], check=True, capture_output=True, text=True).stdout.strip()
        text = CONFIGURATION.format(user=user, place=place, ports=ports, nodes="\n".join(nodes))
        (place / "slurm.conf").write_text(text)
        (place / "munge.key").write_bytes(os.urandom(1024))
        (place / "munge.key").chmod(0o400)
        (place / "state").mkdir()

    def start(self, name):
        files = {what: str(self.place / ("munge." + what)) for what in ("socket", "key", "pid", "log", "seed")}
        commands = {
            "munged": ["munged", "--foreground", "--force", "--num-threads=2", "--socket=" + files["socket"]]
            + ["--key-file=" + files["key"], "--pid-file=" + files["pid"], "--log-file=" + files["log"]]
            + ["--seed-file=" + files["seed"]],
            "slurmctld": ["slurmctld", "-D"],
        }
        command = commands.get(name, ["slurmd", "-D", "-N", name])
        path = os.environ.get("PATH", "") + ":/usr/sbin"
        program = shutil.which(command[0], path=path)
        log = open(self.place / (name + ".out"), "ab")
        self.processes[name] = subprocess.Popen(
            [program, *command[1:]], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment, cwd="/"
        )

    def kill(self, name):
        process = self.processes[name]
        process.kill()
        process.wait()
        if name in NODES:
            self.kill_tasks("SLURMD_NODENAME=" + name)

    def kill_tasks(self, *more):
        """Kills what runs in the cluster. Its processes have the configuration in their environment."""
        wanted = [text.encode() for text in ("SLURM_CONF=" + self.environment["SLURM_CONF"], *more)]
        mine = {os.getpid(), *(process.pid for process in self.processes.values())}
        for process in Path("/proc").glob("[0-9]*"):
            try:
                values = (process / "environ").read_bytes().split(b"\0")
                has_job = any(value.startswith(b"SLURM_JOB_ID=") for value in values)
                is_daemon = (process / "comm").read_text().startswith("slurmstepd") and not more
                if int(process.name) not in mine and all(one in values for one in wanted) and (has_job or is_daemon):
                    os.kill(int(process.name), signal.SIGKILL)
            except (OSError, ProcessLookupError):
                pass

    def wait_until_idle(self):
        command = ["sinfo", "--noheader", "--responding", "--states=idle", "--format=%N", "--partition=all"]
        for _ in range(600):
            done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
            if done.stdout.strip() == "n[1-3]":
                return True
            time.sleep(0.1)
        return False

    def end(self):
        for name in reversed(list(self.processes)):
            self.processes[name].kill()
            self.processes[name].wait()
        for _ in range(3):
            self.kill_tasks()
            time.sleep(0.05)
        shutil.rmtree(self.place, ignore_errors=True)


def main():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    cluster = Cluster(Path(sys.argv[1]))
    try:
        cluster.start("munged")
        while not (cluster.place / "munge.socket").exists():
            if cluster.processes["munged"].poll() is not None:
                print((cluster.place / "munged.out").read_text())
                return
            time.sleep(0.02)
        for name in ["slurmctld", *NODES]:
            cluster.start(name)
        if not cluster.wait_until_idle():
            print((cluster.place / "slurmctld.out").read_text()[-3000:], (cluster.place / "n1.out").read_text()[-2000:])
            return
        print("ready", flush=True)
        for line in sys.stdin:
            what, name = line.split()
            {"kill": cluster.kill, "start": cluster.start}[what](name)
            print("done", flush=True)
    finally:
        cluster.end()


main()
