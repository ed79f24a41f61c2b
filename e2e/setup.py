"""Makes what the end-to-end stories use: `python3 e2e/setup.py`.

All of it is in `.venvs` at the top of the repository: `e2e`, with the newest pytest and what the stories need beside it, and the
runners of `tests/other_runners.rs`: `go` (gotestsum), `vitest`, `perl` (a formatter for `prove`, which Debian has as a
package), and of `tests/native_runs.rs`: `cargo` (nextest). Compilers, CMake, GoogleTest, Maven, a JDK, Chromium and PostgreSQL are packages of the system. Whatever is
already there and complete is left alone. A half-made one (an interrupted set-up, an interpreter that has gone) is made anew.
UNFLAKE_TEST_PYTHON names another Python to be used by the stories instead; then no environment is made for it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

VENVS = Path(__file__).resolve().parent.parent / ".venvs"
# pytest itself, an independent reader of JUnit reports, the two plugins that change most of what a run is, arrays, which are
# changed in place, and what tests use to work with a browser.
PACKAGES = ["pytest", "junitparser", "pytest-xdist", "pytest-cov", "numpy", "playwright", "selenium"]
GOTESTSUM = "gotest.tools/gotestsum@v1.13.0"
VITEST = "vitest@3"
PERL = "TAP::Formatter::JUnit"
# Old enough to be built in half the time of the newest.
NEXTEST = "0.9.81"
BROWSER = {"chromium": "chromium", "chromedriver": "chromium-driver"}
NATIVE = {"g++": "g++", "clang": "clang", "cmake": "cmake", "ctest": "cmake", "ninja": "ninja-build"}


def runs(*command):
    """Whether a program is there and leaves with 0."""
    try:
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def get(program, *packages):
    """A program that the system has, or gets by its package."""
    if shutil.which(program) is None:
        install(*packages)
    if shutil.which(program) is None:
        sys.exit("\n`%s` is needed; the package %s did not bring it" % (program, " ".join(packages)))
    return program


def install(*packages):
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    apt = root + ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=120"]
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    try:
        if subprocess.run(apt + ["install", "-y", *packages], env=environment, stdout=subprocess.DEVNULL).returncode == 0:
            return
        # A machine on which packages were never listed.
        subprocess.run(apt + ["update"], check=True, env=environment, stdout=subprocess.DEVNULL)
        subprocess.run(apt + ["install", "-y", *packages], check=True, env=environment, stdout=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        sys.exit("\n%s cannot be installed by apt-get; install it by hand and start again" % " and ".join(packages))


class Made:
    """A directory in `.venvs` that is made once."""

    def __init__(self, name, receipt, works, make):
        self.place = VENVS / name
        self.receipt = receipt
        self.works = works
        self.make = make

    def is_complete(self):
        try:
            # Written last, so it is there only if everything before it went well.
            return (self.place / "complete").read_text() == self.receipt and self.works(self.place)
        except OSError:
            return False

    def ensure(self):
        if self.is_complete():
            return
        print("making", os.path.relpath(self.place), end="", flush=True)
        began = time.monotonic()
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir(parents=True)
        self.make(self.place)
        if not self.works(self.place):
            sys.exit("\n%s was made, and does not work" % os.path.relpath(self.place))
        (self.place / "complete").write_text(self.receipt)
        print(": %.0f s" % (time.monotonic() - began), flush=True)


def make_python(place):
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run(pip + PACKAGES, check=True)


def make_go(place):
    go = get("go", "golang-go")
    environment = dict(os.environ, GOBIN=str(place / "bin"), GOFLAGS="-mod=mod", GOCACHE=str(place / "cache"))
    subprocess.run([go, "install", GOTESTSUM], check=True, env=environment, stderr=subprocess.DEVNULL, cwd=str(place))


def make_vitest(place):
    npm = get("npm", "nodejs", "npm")
    # So that npm takes this for the project, and not a directory above.
    (place / "package.json").write_text('{"private": true}\n')
    subprocess.run([npm, "install", "--silent", "--no-audit", "--no-fund", VITEST], check=True, cwd=str(place))


def make_perl(place):
    get("prove", "perl")
    if not has_perl(place):
        install("libtap-formatter-junit-perl")


def has_perl(_place):
    return runs("perl", "-M" + PERL, "-e", "1")


def ensure_native():
    """Compilers, CMake and GoogleTest. Everything that is missing is installed in one go."""
    missing = {package for program, package in NATIVE.items() if shutil.which(program) is None}
    if not has_googletest():
        missing.add("libgtest-dev")
    if not missing:
        return
    print("installing", ", ".join(sorted(missing)), flush=True)
    install(*sorted(missing))
    for program, package in NATIVE.items():
        get(program, package)
    if not has_googletest():
        sys.exit("a program cannot be linked with GoogleTest; the package libgtest-dev did not bring it")


def ensure_browser():
    """Chromium, and what Selenium drives it with: of one version, so from one place."""
    missing = sorted(package for program, package in BROWSER.items() if shutil.which(program) is None)
    if missing:
        print("installing", ", ".join(missing), flush=True)
        install(*missing)
    for program, package in BROWSER.items():
        get(program, package)


def ensure_postgres():
    """PostgreSQL, of which the tests start a server of their own. Debian keeps its programs out of the way."""
    if not any(Path("/usr/lib/postgresql").glob("*/bin/initdb")) and shutil.which("initdb") is None:
        print("installing postgresql", flush=True)
        install("postgresql")
    if not any(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        get("initdb", "postgresql")


def ensure_maven():
    """Maven and a JDK, and in Maven's own repository what specimens need, so that they can be built without a network."""
    get("mvn", "maven")
    get("javac", "default-jdk-headless")
    # Windows want a JDK that is not headless, and a screen.
    get("Xvfb", "xvfb")
    home = Path(shutil.which("java")).resolve().parent.parent
    if not list(home.glob("**/libawt_xawt.so")):
        install("default-jre")
    for name in ["jvm-maven", "jvm-assertions", "jvm-filter"]:  # The others need nothing else.
        with tempfile.TemporaryDirectory() as place:
            project = Path(place) / "it"
            specimen = VENVS.parent / "specimens" / name
            shutil.copytree(str(specimen), str(project), ignore=shutil.ignore_patterns("target"))
            command = ["mvn", "-q", "-B", "test", "-Dmaven.test.failure.ignore=true"]
            if not runs("env", "-C", str(project), *command, "-o"):
                subprocess.run(command, check=True, cwd=str(project), stdout=subprocess.DEVNULL)


def has_googletest():
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / "it.cc"
        source.write_text("#if !__has_include(<gtest/gtest.h>)\n#error\n#endif\nint main() {}\n")
        return runs("g++", str(source), "-lgtest", "-lpthread", "-o", str(source.with_suffix("")))


def make_nextest(place):
    # What it makes is used for a few seconds: to be built soon is worth more than to be fast.
    quick = {"LTO": "off", "OPT_LEVEL": "0", "CODEGEN_UNITS": "16", "DEBUG": "false", "INCREMENTAL": "false"}
    environment = dict(os.environ, **{"CARGO_PROFILE_RELEASE_" + name: value for name, value in quick.items()})
    target = place / "target"
    command = ["cargo", "install", "cargo-nextest", "--version", NEXTEST, "--locked", "--quiet", "--root", str(place)]
    command += ["--no-default-features", "--features", "default-no-update", "--target-dir", str(target)]
    subprocess.run(command, check=True, env=environment)
    shutil.rmtree(str(target))


def nextest_works(place):
    return runs(str(place / "bin" / "cargo-nextest"), "nextest", "--version")


def python_works(place):
    return runs(str(place / "bin" / "python"), "-c", "import pytest, junitparser, xdist, pytest_cov, numpy, playwright, selenium")


def main():
    if "UNFLAKE_TEST_PYTHON" not in os.environ:
        Made("e2e", "\n".join([sys.version] + PACKAGES), python_works, make_python).ensure()
    Made("go", GOTESTSUM, lambda place: runs(str(place / "bin" / "gotestsum"), "--version"), make_go).ensure()
    Made("vitest", VITEST, lambda place: runs(str(place / "node_modules/.bin/vitest"), "--version"), make_vitest).ensure()
    Made("perl", PERL, has_perl, make_perl).ensure()
    ensure_native()
    ensure_browser()
    ensure_postgres()
    ensure_maven()
    Made("cargo", NEXTEST, nextest_works, make_nextest).ensure()


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit("\nthe set-up of the end-to-end tests failed: %s" % error)
