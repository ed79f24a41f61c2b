"""What the preloaded shim costs when it is there and has nothing to do: `python3 bench/shim.py` (bar: 1.05 times).

The same command plain and by `unflake under -- COMMAND` without factors, which loads the shim into every process and changes
nothing. Released suites are the measure, start of unflake included. Below them the worst that can be: programs that do
nothing but call what the shim stands before, each with the shim alone, so that only the calls are counted. Contenders take
turns.
"""

import argparse
import subprocess

import suites
from measure import Contender, alternate, least, median

# Calls of one kind, as many as fit into about a second.
CALLS = {
    "clock, 3 million times": "import time\nfor _ in range(3_000_000): time.time()",
    "locks of threads, 20 thousand items": (
        "import queue, threading\nitems = queue.Queue()\n"
        "threading.Thread(target=lambda: [items.put(0) for _ in range(20_000)]).start()\n"
        "for _ in range(20_000): items.get()"
    ),
    "reads and writes, 300 thousand each": (
        "import os\nread, write = os.pipe()\nfor _ in range(300_000): os.write(write, b'x'); os.read(read, 1)"
    ),
    "opens, 100 thousand": "import os\nfor _ in range(100_000): os.close(os.open('/dev/null', 0))",
    "listings, 10 thousand": "import os\nfor _ in range(10_000): os.listdir('/etc')",
    "programs started, 200": "import subprocess\nfor _ in range(200): subprocess.run(['true'])",
    "a Python that does nothing": "",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=11, help="runs of each contender")
    parser.add_argument("--factors", default="", help="factors to be under, in place of none: `--date +1d`")
    arguments = parser.parse_args()
    subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "unflake"], cwd=suites.ROOT, check=True)
    wrapped = [str(suites.TARGET / "release" / "unflake"), "under", "-q", *arguments.factors.split(), "--"]
    rows = []

    def compare(name, command, directory, variables):
        contenders = [
            Contender("plain", command, directory, variables),
            Contender("under", wrapped + command, directory, variables),
        ]
        costs = alternate(contenders, arguments.times)
        ratios = [
            "%.3f" % (how(costs["under"], what) / how(costs["plain"], what))
            for what in ("wall", "cpu") for how in (median, least)
        ]
        rows.append([name, "%.2f" % median(costs["plain"], "wall"), *ratios])
        print("| %s |" % " | ".join(rows[-1]), flush=True)

    print("| what | plain, s | wall × plain, median | least | CPU × plain, median | least |\n|---|---|---|---|---|---|")
    for name in ("click", "jinja2", "marshmallow"):
        suite = suites.real(name)
        compare(name, suite.pytest(), suite.directory, suite.variables())
    for name, script in CALLS.items():
        compare(name, [suites.PYTHON, "-c", script], suites.ROOT, suite.variables())


if __name__ == "__main__":
    main()
