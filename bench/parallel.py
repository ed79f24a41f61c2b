"""A first pass in several processes: `python3 bench/parallel.py` (bar: 1.05 times plain `pytest -n 2`).

A suite of 1,000 tests in 20 files, all passing, in the workers of pytest-xdist: plain, and by `unflake run`. Contenders take
turns. Printed are medians and minima of CPU time and wall time.
"""

import argparse
import os
import subprocess
import tempfile

import suites
from measure import Contender, alternate, compared

FILES, TESTS = 20, 50
FILE = """import time
import pytest

@pytest.mark.parametrize("number", range(%d))
def test_of_%d(number):
    end = time.perf_counter() + %g
    while time.perf_counter() < end:
        pass
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=11, help="runs of each contender")
    parser.add_argument("--python", default=str(suites.ROOT / ".venvs/e2e-plugins/bin/python"), help="has pytest and pytest-xdist")
    parser.add_argument("--binary", help="this unflake, and no release build")
    arguments = parser.parse_args()
    if not arguments.binary:
        subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "unflake"], cwd=suites.ROOT, check=True)
    unflake = arguments.binary or str(suites.TARGET / "release" / "unflake")
    print("| seconds per test | contender | CPU s, median / min | × plain | wall s, median / min | × plain |")
    print("|---|---|---|---|---|---|")
    for seconds in (0.001, 0.005):
        with tempfile.TemporaryDirectory() as directory:
            for file in range(FILES):
                with open("%s/test_%d.py" % (directory, file), "w") as out:
                    out.write(FILE % (TESTS, file, seconds))
            plain = [arguments.python, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider"]
            variables = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
            contenders = [
                Contender("pytest -n 2", plain, directory, variables),
                Contender("unflake run -- pytest -n 2", [unflake, "run", "-q", "--", *plain], directory, variables),
            ]
            costs = alternate(contenders, arguments.times)
            for name, its in costs.items():
                cells = compared(its, costs["pytest -n 2"], digits=3)
                print("| %g | %s | %s |" % (seconds, name, " | ".join(cells)), flush=True)


if __name__ == "__main__":
    main()
