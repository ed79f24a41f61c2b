"""What the preloaded shim costs when it is there and has nothing to do: `python3 bench/shim.py` (bar: 1.05 times).

The same command plain and by `unflake under -- COMMAND` without factors, which loads the shim into every process and changes
nothing. Released suites are the measure, start of unflake included. Below them the worst that can be: programs that do
nothing but call what the shim stands before, each with the shim alone, so that only the calls are counted. Contenders take
turns.
"""

import argparse
import subprocess
import tempfile

import suites
from measure import Contender, alternate, least, median

# Calls of one kind, as many as fit into about a second.
CALLS = {
    "clock, 10 million times": "import time\nfor _ in range(10_000_000): time.time()",
    "locks of threads, 100 thousand items": (
        "import queue, threading\nitems = queue.Queue()\n"
        "threading.Thread(target=lambda: [items.put(0) for _ in range(100_000)]).start()\n"
        "for _ in range(100_000): items.get()"
    ),
    "reads and writes, 300 thousand each": (
        "import os\nread, write = os.pipe()\nfor _ in range(300_000): os.write(write, b'x'); os.read(read, 1)"
    ),
    "opens, 100 thousand": "import os\nfor _ in range(100_000): os.close(os.open('/dev/null', 0))",
    "listings, 10 thousand": "import os\nfor _ in range(10_000): os.listdir('/etc')",
    "programs started, 500": "import subprocess\nfor _ in range(500): subprocess.run(['true'])",
    "a Python that does nothing": "",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=11, help="runs of each contender")
    parser.add_argument("--factors", default="", help="factors to be under, in place of none: `--date +1d`")
    arguments = parser.parse_args()
    subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "unflake"], cwd=suites.ROOT, check=True)
    unflake = str(suites.TARGET / "release" / "unflake")
    wrapped = [unflake, "under", "-q", *arguments.factors.split(), "--"]

    def compare(name, command, directory, variables, other, others):
        contenders = [Contender("plain", command, directory, variables), Contender("under", other, directory, others)]
        costs = alternate(contenders, arguments.times)
        ratios = [
            "%.3f" % (how(costs["under"], what) / how(costs["plain"], what))
            for what in ("wall", "cpu") for how in (median, least)
        ]
        print("| %s |" % " | ".join([name, "%.2f" % median(costs["plain"], "wall"), *ratios]), flush=True)

    print("| what | plain, s | wall × plain, median | least | CPU × plain, median | least |\n|---|---|---|---|---|---|")
    for name in ("click", "jinja2", "marshmallow"):
        suite = suites.real(name)
        compare(name, suite.pytest(), suite.directory, suite.variables(), wrapped + suite.pytest(), suite.variables())
    with tempfile.TemporaryDirectory() as place:
        # What is preloaded is a file in unflake's memory: a copy of it is as good.
        library, variables = place + "/shim.so", suite.variables()
        copied = "cat \"${LD_PRELOAD%%%%:*}\" > %s; printf %%s \"$UNFLAKE_UNDER\"" % library
        under = subprocess.run([*wrapped, "sh", "-c", copied], check=True, capture_output=True, text=True).stdout
        under = under.partition(";page=")[0]
        for name, script in CALLS.items():
            command = [suites.PYTHON, "-c", script]
            with_shim = {**variables, "LD_PRELOAD": library, "UNFLAKE_UNDER": under}
            compare(name, command, suites.ROOT, variables, command, with_shim)


if __name__ == "__main__":
    main()
