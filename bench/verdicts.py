"""How often does `unflake run` call chance real? `python3 bench/verdicts.py [RUNS]`

Each project runs 20 times with a new history. Prints, for each, which verdicts its test got. No
verdict may be real.
"""

import collections
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNFLAKE = ROOT / "target" / "debug" / "unflake"
VENV = ROOT / ".venvs" / "bench-verdicts"
PYTHON = VENV / "bin" / "python"
PROJECTS = {
    "random, reseeded by pytest-randomly": (
        "import random\ndef test_it(): assert random.random() < 0.5\n",
        [],
    ),
    "order of a set": ("def test_it(): assert list({'a', 'b', 'c', 'd'})[0] in 'ab'\n", ["-p", "no:randomly"]),
    "address of an object": ("def test_it(): assert hash(object()) >> 20 & 1 == 0\n", ["-p", "no:randomly"]),
    "fixed file that stays": (
        "def test_it():\n"
        "    with open('../left.txt', 'a') as file: file.write('x')\n"
        "    assert open('../left.txt').read() == 'x'\n",
        ["-p", "no:randomly"],
    ),
    **{
        f"address of an object, bit {bit}": (
            f"def test_it(): assert id(object()) >> {bit} & 1 == 0\n",
            ["-p", "no:randomly"],
        )
        for bit in (17, 24, 28, 32)
    },
    "address of the interpreter": ("def test_it(): assert id(None) >> 20 & 1 == 0\n", ["-p", "no:randomly"]),
}


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "pytest", "pytest-randomly"], check=True)
    real = 0
    for name, (source, options) in PROJECTS.items():
        verdicts = collections.Counter()
        with tempfile.TemporaryDirectory() as parent:
            project = pathlib.Path(parent, "project")
            project.mkdir()
            (project / "test_it.py").write_text(source)
            for number in range(runs):
                verdicts[verdict(project, number, options)] += 1
        real += verdicts["real"]
        print(f"{name:38} " + ", ".join(f"{kind} {count}" for kind, count in verdicts.most_common()), flush=True)
    print(f"real: {real} of {len(PROJECTS) * runs} runs")
    return real > 0


def verdict(project, number, options):
    """The verdict on the one test in one run, or `passed`."""
    report = project.parent / "report.json"
    command = [UNFLAKE, "run", "-q", "--json", report, "--store", project.parent / f"history-{number}", "--"]
    ran = subprocess.run([*command, PYTHON, "-m", "pytest", *options], cwd=project, capture_output=True, check=False)
    assert ran.returncode in (0, 1), ran.stdout.decode() + ran.stderr.decode()
    found = [one["kind"] for one in json.loads(report.read_text())["findings"] if one["technique"] == "verdict"]
    return found[0] if found else "passed"


if __name__ == "__main__":
    sys.exit(main())
