#!/usr/bin/env python3
"""Runs the agent's tests on every interpreter that is here, with pytest versions from 6.2 to the newest.

    matrix.py [--quick] [--venvs DIR] [--only TEXT] [pytest arguments…]

Makes virtual environments (default: `.venvs` in the root of the repository) and keeps them. Combinations run side by
side, one for each core. Prints a line for each; the exit status is 1 if any of them fails. A test that fails and then
passes three times alone is flaky: it is named and fails nothing, as in `e2e/run_tests.py`, unless there are more than
three. `--quick`: the oldest combination and this interpreter with the newest pytest. Standard library only; pip
downloads the rest.
"""

import argparse
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# Interpreter, pytest and packages of this combination only: every interpreter once, with pytest from 6.2 on. None: the
# newest that pip finds.
COMBINATIONS = [
    ("3.8", "6.2.5", []),
    ("3.9", "7.0.1", []),
    ("3.10", "7.4.4", []),
    ("3.11", "8.3.4", ["freezegun"]),
    ("3.12", "8.0.2", []),
    ("3.13", "9.0.1", ["numpy", "freezegun", "playwright", "selenium", "pandas", "gevent"]),
    ("3.14", None, []),
]
# Instruments depend on the interpreter more than on pytest: their tests run on the oldest combination and on the newest
# with all packages. Those that watch code run on the last interpreter without `sys.monitoring`, too.
WITHOUT_MONITORING = ("3.11", "8.3.4")
WITH_INSTRUMENTS = ("3.8", "6.2.5"), WITHOUT_MONITORING, ("3.13", "9.0.1")
INSTRUMENTS = {
    "state": False,
    "dependencies": True,
    "trace": True,
    "layers": True,
    "assertions": False,
    "awkward": True,
    "schedule": True,
}
RERUNS = 3
MOST_FLAKY = 3
PLUGINS = ["pytest-asyncio", "pytest-xdist", "pytest-cov", "pytest-rerunfailures"]


def interpreters():
    """Paths by version such as "3.11", from PATH and pyenv."""
    found = {}
    pyenv = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    for path in sorted(glob.glob(os.path.join(pyenv, "versions", "3.*", "bin", "python"))):
        version = re.search(r"versions/(3\.\d+)", path)
        if version:
            found[version.group(1)] = path
    for minor in range(8, 20):
        path = shutil.which("python3.%d" % minor)
        if path and "shims" not in path:
            found.setdefault("3.%d" % minor, path)
    found.setdefault("%d.%d" % sys.version_info[:2], sys.executable)
    return found


def name_of(version, pytest):
    return "py%s-pytest%s" % (version, pytest or "-newest")


def environment(directory, python, version, pytest, extra):
    """The interpreter of a virtual environment with these packages, made if necessary; or the error."""
    name = name_of(version, pytest)
    inside = os.path.join(directory, name, "bin", "python")
    done = os.path.join(directory, name, "unflake-ready")
    wanted = " ".join(["pytest" + ("==" + pytest if pytest else "")] + PLUGINS + extra)
    if os.path.exists(done) and open(done).read() == wanted:
        return inside, None
    steps = [[python, "-m", "venv", os.path.join(directory, name)]]
    steps.append([inside, "-m", "pip", "install", "-q", "--disable-pip-version-check"] + wanted.split())
    for step in steps:
        ran = subprocess.run(step, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if ran.returncode != 0:
            return inside, ran.stdout.decode(errors="replace")
    with open(done, "w") as file:
        file.write(wanted)
    return inside, None


def flaky_tests(run, output):
    """The failing tests, if each passes alone; none if that is not known."""
    failing = re.findall(r"^FAILED (.+?)(?: - .*)?$", output, re.MULTILINE)
    if len(failing) > MOST_FLAKY or re.search(r"^ERROR ", output, re.MULTILINE):
        return []
    passes = lambda test: all(run([test]).returncode == 0 for _ in range(RERUNS))
    return failing if all(passes(test) for test in failing) else []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--venvs", default=os.path.join(HERE, "..", "..", ".venvs"), metavar="DIR")
    parser.add_argument("--only", default="", metavar="TEXT", help="combinations whose name contains this")
    options, arguments = parser.parse_known_args()
    found = interpreters()
    here = "%d.%d" % sys.version_info[:2]
    combinations = [one for one in COMBINATIONS if one[0] in found]
    newest = [] if any(pytest is None for _, pytest, _ in combinations) else [(here, None, [])]
    combinations = combinations[:1] + [(here, None, [])] if options.quick else combinations + newest
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    selected = [one for one in combinations if options.only in name_of(*one[:2])]
    # The longest first, so that no core is idle at the end.
    selected.sort(key=lambda one: one[:2] not in WITH_INSTRUMENTS)

    def test(combination):
        version, pytest, extra = combination
        with_all = len(combinations) <= len(WITH_INSTRUMENTS)
        has_any = with_all or (version, pytest) in WITH_INSTRUMENTS
        only_watching = not with_all and (version, pytest) == WITHOUT_MONITORING
        python, error = environment(os.path.abspath(options.venvs), found[version], version, pytest, extra)
        if error is not None:
            return False, "%-22s cannot be made:\n%s" % (name_of(version, pytest), error)
        begin = time.monotonic()
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        run = lambda words: subprocess.run(command + words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, cwd=HERE)
        words = [os.path.join(HERE, "tests")] + arguments
        for one, watches_code in INSTRUMENTS.items():
            if not has_any or only_watching and not watches_code:
                words.append("--ignore=" + os.path.join(HERE, "tests", one))
        ran = run(words)
        output = ran.stdout.decode(errors="replace")
        counts = [line for line in output.splitlines() if re.search(r"\d+ (passed|failed|error)", line)] or ["?"]
        summary = re.sub(r" in [\d.]+s.*| *=+ *", "", counts[-1])
        line = "%-22s %s, %.0f s" % (name_of(version, pytest), summary, time.monotonic() - begin)
        if ran.returncode == 0:
            return True, line
        flaky = flaky_tests(run, output) if ran.returncode == 1 else []
        named = "".join("\n    FLAKY, to be mended: " + test for test in flaky)
        return bool(flaky), "%s%s\n%s" % (line, named, output[-6000:])

    failed = False
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for passed, text in pool.map(test, selected):
            print(text, flush=True)
            failed = failed or not passed
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
