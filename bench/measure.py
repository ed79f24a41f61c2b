"""The instrument: what a command costs, and several commands in turn so that drift of the machine meets all alike."""

import os
import statistics
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass

TICK = os.sysconf("SC_CLK_TCK")


@dataclass
class Cost:
    wall: float
    cpu: float  # Of the process and everything below it.
    own_cpu: float  # Of the process alone, all its threads included.
    peak: int = 0  # Most memory of the process alone, in bytes. Only where it was watched.


@dataclass
class Contender:
    name: str
    command: list
    cwd: object
    variables: dict
    exits: tuple = (0,)
    watched: bool = False


def once(contender):
    with tempfile.TemporaryFile() as output:
        began = time.perf_counter()
        process = subprocess.Popen(
            contender.command,
            cwd=contender.cwd,
            env=contender.variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        watch = Watch(process.pid) if contender.watched else None
        # It stays a zombie for a moment, so that its own share can still be read.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        wall = time.perf_counter() - began
        own = own_cpu(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in contender.exits:
            output.seek(0)
            tail = output.read()[-3000:].decode(errors="replace")
            raise SystemExit("%s left with %d:\n%s" % (contender.name, process.returncode, tail))
    return Cost(wall, usage.ru_utime + usage.ru_stime, own, watch.peak() if watch else 0)


def own_cpu(pid):
    with open("/proc/%d/stat" % pid) as file:
        after_name = file.read().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / TICK


class Watch:
    """Reads the high-water mark of a process's memory until it ends."""

    def __init__(self, pid):
        self._pid, self._peak = pid, 0
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self):
        while True:
            try:
                with open("/proc/%d/status" % self._pid) as file:
                    marks = [line for line in file if line.startswith("VmHWM")]
            except OSError:
                return
            if not marks:  # A zombie has no memory.
                return
            self._peak = int(marks[0].split()[1]) * 1024
            time.sleep(0.01)

    def peak(self):
        self._thread.join()
        return self._peak


def alternate(contenders, times, warm=True):
    """Costs by name. A B C, C B A, A B C, …: each comes as often early as late."""
    if warm:
        for contender in contenders:
            once(contender)
    costs = {contender.name: [] for contender in contenders}
    for round in range(times):
        for contender in contenders if round % 2 == 0 else reversed(contenders):
            costs[contender.name].append(once(contender))
    return costs


def compared(costs, base, kinds=("cpu", "wall"), digits=2):
    """CPU time and wall time, each with how many times that of the base it is: medians, and the least."""
    cells = []
    for what in kinds:
        cells.append("%.*f / %.*f" % (digits, median(costs, what), digits, least(costs, what)))
        cells.append("%.2f / %.2f" % (median(costs, what) / median(base, what), least(costs, what) / least(base, what)))
    return cells


def median(costs, what):
    return statistics.median(getattr(cost, what) for cost in costs)


def least(costs, what):
    return min(getattr(cost, what) for cost in costs)
