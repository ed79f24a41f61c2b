"""What is measured on: real suites from PyPI with their versions pinned, and suites made here."""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
# Environments and sources stay here.
KEPT = Path(os.environ.get("BENCH_PLACE", ROOT / ".venvs"))
VENV = KEPT / "bench"
PLACE = KEPT / "bench-suites"
PLUGINS = KEPT / "bench-plugins"
PYTHON = str(VENV / "bin" / "python")
# As they were when the bench began, whatever is built meanwhile.
FROZEN = KEPT / "bench-frozen"
UNFLAKE = str(FROZEN / "unflake")
AGENT = FROZEN / "agent"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))

# pytest 9 refuses to collect the released suites of click and packaging: they parametrize over iterators.
PACKAGES = ["pytest==8.4.2", "trio==0.31.0", "simplejson==3.20.2", "pretend==1.0.9", "markupsafe==3.0.3"]

# Each in a directory of its own, so that only the contender that wants a plugin has it.
OPPONENTS = {
    "pytest-rerunfailures": ["pytest-rerunfailures==16.7"],
    "pytest-retry": ["pytest-retry==1.7.0"],
    "pytest-forked": ["pytest-forked==1.7.5", "py==1.11.0"],
    # What many a project has installed, loaded and not used.
    "usual": [
        "pytest-cov==7.1.0", "coverage==7.17.2", "pytest-xdist==3.8.0", "execnet==2.1.2", "hypothesis==6.170.15",
        "pytest-asyncio==1.4.1.post1", "pytest-mock==3.17.0", "typing_extensions==4.16.0",
    ],
}


class Suite:
    """A directory in which `python -m pytest -q` passes, with what must be added to the command for that."""

    def __init__(self, name, directory, options=(), one=None):
        self.name = name
        self.directory = Path(directory)
        self.options = list(options)
        self.one = one

    def pytest(self, *more):
        return [PYTHON, "-m", "pytest", "-q", *self.options, *more]

    def unflake(self, *flags, options=()):
        return [UNFLAKE, "run", *flags, "--", *self.pytest(*options)]

    def variables(self, *plugins, path=()):
        """The environment, the same for every contender but for its own plugins."""
        ours = ("PYTHON", "PYTEST_", "UNFLAKE_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        kept.pop("VIRTUAL_ENV", None)
        kept["XDG_CACHE_HOME"] = str(KEPT / "bench-cache")
        directories = [self.directory / "src", *(PLUGINS / plugin for plugin in plugins), *path]
        kept["PYTHONPATH"] = os.pathsep.join(map(str, directories))
        return kept

    def forget(self):
        """Removes the history, so that every bench begins with none."""
        shutil.rmtree(self.directory / ".unflake", ignore_errors=True)


# Name, version, a typical test for the bench of single tests, options that both sides get.
REAL = {
    "click": ("8.1.8", "tests/test_options.py::test_nargs_tup_composite_mult", []),
    "jinja2": ("3.1.6", "tests/test_filters.py::TestFilter::test_groupby", []),
    # The deselected test wants the package to be installed, not only importable.
    "marshmallow": (
        "3.26.1",
        "tests/test_schema.py::test_load_resets_error_fields",
        ["--deselect", "tests/test_version_attributes.py::test_version_attributes_deprecated"],
    ),
    "packaging": ("25.0", None, []),
}
# Further ones for what only needs many tests of many kinds.
MORE = {
    "boltons": ("25.0.0", None, ["tests"]),
    "cachetools": ("6.2.0", None, ["tests"]),
    "idna": ("3.10", None, ["tests"]),
    "more-itertools": ("10.8.0", None, ["tests"]),
    "tabulate": ("0.9.0", None, ["test"]),
    "toolz": ("1.0.0", None, ["toolz"]),
}


def real(name):
    version, one, options = {**REAL, **MORE}[name]
    directory = PLACE / ("%s-%s" % (name.replace("-", "_"), version))
    if not directory.exists():
        PLACE.mkdir(parents=True, exist_ok=True)
        pip("download", "--no-deps", "--no-binary", ":all:", "--dest", PLACE, "%s==%s" % (name, version))
        with tarfile.open(directory.with_name(directory.name + ".tar.gz")) as archive:
            archive.extractall(PLACE, filter="data") if hasattr(tarfile, "data_filter") else archive.extractall(PLACE)
        as_repository(directory)
    return Suite(name, directory, options, one)


def copy_with(suite, name, additions):
    """A copy of a suite with lines added at the end of some of its files."""
    directory = PLACE / ("%s-%s" % (suite.directory.name, name))
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(suite.directory, directory, ignore=shutil.ignore_patterns(".unflake", ".pytest_cache", ".git"))
    for file, lines in additions.items():
        with open(directory / file, "a") as out:
            out.write("\n\n" + lines)
    as_repository(directory)
    return Suite(suite.name, directory, suite.options, suite.one)


def made(tests, name="passing", body=lambda number: "assert True", a_file=100):
    """A suite of small tests. `body` gives the lines of the test with a number."""
    directory = PLACE / ("made-%s-%d" % (name, tests))
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    (directory / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    for first in range(0, tests, a_file):
        lines = []
        for number in range(first, min(first + a_file, tests)):
            lines.append("def test_%d():\n    %s\n" % (number, body(number).replace("\n", "\n    ")))
        (directory / ("test_%05d.py" % (first // a_file))).write_text("\n\n".join(lines))
    as_repository(directory)
    return Suite(name, directory)


def as_repository(directory):
    """unflake asks git what is tested; a suite must not be answered with the state of this project."""
    (directory / ".gitignore").write_text("__pycache__/\n.pytest_cache/\n.unflake/\n")
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-C", str(directory)]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "As released"]):
        subprocess.run(git + words, check=True)


def prepare():
    """The virtual environment, the opponents and a release build, made where they are not there yet."""
    if not VENV.exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    wanted = VENV / "bench-packages"
    if not wanted.exists() or wanted.read_text().split() != PACKAGES:
        pip("install", *PACKAGES)
        wanted.write_text("\n".join(PACKAGES))
    for name, packages in OPPONENTS.items():
        if not (PLUGINS / name).exists():
            pip("install", "--no-deps", "--target", PLUGINS / name, *packages)
    subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "unflake"], cwd=ROOT, check=True)
    shutil.rmtree(FROZEN, ignore_errors=True)
    shutil.copytree(ROOT / "agents" / "pytest" / "unflake_agent", AGENT / "unflake_agent")
    shutil.copy(TARGET / "release" / "unflake", UNFLAKE)


def pip(*words):
    subprocess.run([PYTHON, "-m", "pip", "--quiet", "--disable-pip-version-check", *map(str, words)], check=True)
