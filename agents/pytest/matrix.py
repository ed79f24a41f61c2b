#!/usr/bin/env python3
"""Runs the agent's tests on every installed interpreter, with pytest 6.2 to the newest.

    matrix.py [--quick] [--venvs DIR] [--only TEXT] [pytest arguments…]

Makes virtual environments (default: `.venvs` at the root of the repository) and keeps them for the
next time. Prints a line for each combination; the exit status is 1 if any of them fails. `--quick`:
the oldest combination, and this interpreter with the newest pytest. Standard library only; pip
fetches the rest.
"""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# Python version, pytest version (None: the newest), and further packages.
COMBINATIONS = [
    ("3.8", "6.2.5", []),
    ("3.8", "7.4.4", []),
    ("3.9", "7.0.1", []),
    ("3.10", "8.0.2", []),
    ("3.11", "8.3.4", ["freezegun"]),
    ("3.12", "8.3.4", []),
    ("3.13", "9.0.1", ["numpy", "freezegun", "playwright", "selenium", "pandas"]),
    ("3.14", None, []),
]
# Instruments depend on the interpreter more than on pytest. Their tests run on the oldest pair, on
# the last interpreter without `sys.monitoring`, and on the newest one.
INSTRUMENT_TESTS = "state", "dependencies", "trace", "layers", "assertions"
FULL_COMBINATIONS = ("3.8", "6.2.5"), ("3.11", "8.3.4"), ("3.13", "9.0.1")
PLUGINS = ["pytest-asyncio", "pytest-xdist", "pytest-cov", "pytest-rerunfailures"]


def interpreters():
    """Paths of interpreters by version such as "3.11", from PATH and pyenv."""
    pythons = {}
    pyenv = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    for path in sorted(glob.glob(os.path.join(pyenv, "versions", "3.*", "bin", "python"))):
        version = re.search(r"versions/(3\.\d+)", path)
        if version:
            pythons[version.group(1)] = path
    for minor in range(8, 20):
        path = shutil.which("python3.%d" % minor)
        if path and "shims" not in path:
            pythons.setdefault("3.%d" % minor, path)
    pythons.setdefault("%d.%d" % sys.version_info[:2], sys.executable)
    return pythons


def environment(directory, python, version, pytest, extra):
    """Makes a virtual environment if needed: its name, its interpreter, and an error or None."""
    name = "py%s-pytest%s" % (version, pytest or "-newest")
    venv_python = os.path.join(directory, name, "bin", "python")
    marker = os.path.join(directory, name, "unflake-ready")
    requirements = " ".join(["pytest" + ("==" + pytest if pytest else "")] + PLUGINS + extra)
    if os.path.exists(marker) and open(marker).read() == requirements:
        return name, venv_python, None
    steps = [[python, "-m", "venv", os.path.join(directory, name)]]
    steps.append([venv_python, "-m", "pip", "install", "-q", "--disable-pip-version-check"] + requirements.split())
    for step in steps:
        result = subprocess.run(step, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if result.returncode != 0:
            return name, venv_python, result.stdout.decode(errors="replace")
    with open(marker, "w") as file:
        file.write(requirements)
    return name, venv_python, None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--venvs", default=os.path.join(HERE, "..", "..", ".venvs"), metavar="DIR")
    parser.add_argument("--only", default="", metavar="TEXT", help="combinations whose name contains this")
    options, arguments = parser.parse_known_args()
    pythons = interpreters()
    own_version = "%d.%d" % sys.version_info[:2]
    combinations = [one for one in COMBINATIONS if one[0] in pythons]
    combinations = (combinations[:1] if options.quick else combinations) + [(own_version, None, [])]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    failed = False
    for version, pytest, extra in combinations:
        if options.only not in "py%s-pytest%s" % (version, pytest or "-newest"):
            continue
        name, python, error = environment(os.path.abspath(options.venvs), pythons[version], version, pytest, extra)
        if error is not None:
            print("%-22s cannot be made:\n%s" % (name, error), flush=True)
            failed = True
            continue
        begin = time.monotonic()
        command = [python, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", os.path.join(HERE, "tests")] + arguments
        if (version, pytest) not in FULL_COMBINATIONS and len(combinations) > len(FULL_COMBINATIONS):
            command += ["--ignore=" + os.path.join(HERE, "tests", one) for one in INSTRUMENT_TESTS]
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, cwd=HERE)
        output = result.stdout.decode(errors="replace")
        counts = [line for line in output.splitlines() if re.search(r"\d+ (passed|failed|error)", line)] or ["?"]
        print("%-22s %s" % (name, re.sub(r" in [\d.]+s.*| *=+ *", "", counts[-1])), end="", flush=True)
        print(", %.0f s" % (time.monotonic() - begin), flush=True)
        if result.returncode != 0:
            failed = True
            print(output[-6000:], flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
