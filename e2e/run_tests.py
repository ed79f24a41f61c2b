"""Runs all tests of the workspace, and failing ones again, alone: `python3 e2e/run_tests.py [cargo options]`.

A test that fails while others run and then passes three times alone is flaky: it is named at the end and does not fail
the run, because one such test in a thousand would hide what the others say. It is a defect all the same, of the test or
of unflake. More than three of them are no accident and fail the run. So does whatever else goes wrong: a test that fails
alone, a crash, an error of the compiler.
"""

import os
import re
import subprocess
import sys

RERUNS = 3
MOST_FLAKY = 3
FAILED_TARGET = re.compile(r"^\s*(?:error: test failed, to rerun pass )?`(-p [^`]+)`$")
RESULT = re.compile(r"^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed;")


def cargo_test(options, arguments):
    """Runs `cargo test`, shows its output, and returns the exit code and the lines."""
    command = ["cargo", *options, *arguments]
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0) as process:
        text = b""
        while chunk := process.stdout.read(65536):
            # Dots that show progress have no line of their own.
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
            text += chunk
        lines = text.decode(errors="replace").splitlines()
    return process.returncode, lines


def failures(lines):
    """The names of failing tests: the last list below `failures:` of each test binary."""
    names, listed = [], []
    for line in lines:
        if line == "failures:":
            listed = []
        elif RESULT.match(line):
            names += listed if RESULT.match(line).group(2) != "0" else []
            listed = []
        elif re.fullmatch(r"    \S.*", line):
            listed.append(line.strip())
    return names


def failed_targets(lines):
    found = [match.group(1) for match in map(FAILED_TARGET.match, lines) if match]
    return [target.split() for target in dict.fromkeys(found)]


def all_reported(lines, targets):
    """Whether each failing test binary came to its end; one that crashed names no test."""
    results = [match for match in map(RESULT.match, lines) if match]
    return len(targets) == len([match for match in results if match.group(2) != "0"])


def passes_alone(options, targets, name):
    for _ in range(RERUNS):
        results = []
        for target in targets:
            arguments = ["test", "--quiet", *target, "--", "--exact", name, "--test-threads", "1"]
            code, lines = cargo_test(options, arguments)
            if code != 0:
                return False
            results += [match for match in map(RESULT.match, lines) if match]
        if sum(int(match.group(1)) for match in results) != 1:
            return False
    return True


def main():
    options = sys.argv[1:]
    # Many tests wait for processes, so more of them run than there are cores.
    threads = str(2 * len(os.sched_getaffinity(0)))
    everything = ["test", "--workspace", "--quiet", "--no-fail-fast", "--", "--test-threads", threads]
    code, lines = cargo_test(options, everything)
    if code == 0:
        return
    names, targets = failures(lines), failed_targets(lines)
    if not names or not all_reported(lines, targets) or len(names) > MOST_FLAKY:
        sys.exit(code)
    real = [name for name in names if not passes_alone(options, targets, name)]
    for name in names:
        print("%s: %s" % ("FAILED" if name in real else "FLAKY, to be mended", name), flush=True)
    if real:
        sys.exit(code)


if __name__ == "__main__":
    main()
