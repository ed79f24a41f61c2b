"""Installs what the end-to-end tests need: `python3 e2e/setup.py`.

Packages of the system (compilers, CMake, GoogleTest, Maven, Gradle, a JDK, Chromium, PostgreSQL, pgbouncer, Slurm) come from apt-get.
Everything else goes to `.venvs` in the root of the repository: `e2e` (Python with the newest pytest), `e2e-plugins` (the
same with plugins), `project-tools` (tools that start pytest), `go` (gotestsum), `vitest`, `cargo` (cargo-nextest), `maven`
(a record of its downloads), `reapi` (a server of the Remote Execution API) and `deny` (cargo-deny). What is complete is
left alone; what is incomplete or broken is made again. With UNFLAKE_TEST_PYTHON the tests use that Python, and neither `e2e` nor `e2e-plugins` is made.
"""

import concurrent.futures
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENVS = ROOT / ".venvs"
# junitparser is an independent reader of JUnit reports; NumPy arrays change in place; playwright and selenium drive a
# browser.
PACKAGES = ["pytest", "junitparser", "numpy", "playwright", "selenium"]
# They change how pytest runs. Each start of pytest takes a quarter longer with them, and few tests need them.
PLUGINS = ["pytest", "pytest-xdist", "pytest-cov"]
# A server of the Remote Execution API. It names no driver for its database.
REAPI = ["buildgrid==0.4.4", "psycopg2-binary"]
# Tools that people start pytest with.
PROJECT_TOOLS = ["tox", "nox", "uv", "poetry", "hatch", "pdm"]
GOTESTSUM = "gotest.tools/gotestsum@v1.13.0"
VITEST = "vitest@3"
PERL_MODULE = "TAP::Formatter::JUnit"
# Builds in half the time of the newest version.
NEXTEST = "0.9.81"
DENY = "0.20.2"
# Programs of the system and the Debian packages that have them.
PROGRAMS = {
    "go": ["golang-go"],
    "npm": ["nodejs", "npm"],
    "prove": ["perl"],
    "g++": ["g++"],
    "clang": ["clang"],
    "cmake": ["cmake"],
    "ctest": ["cmake"],
    "ninja": ["ninja-build"],
    "chromium": ["chromium"],
    "chromedriver": ["chromium-driver"],
    "mvn": ["maven"],
    "gradle": ["gradle"],
    "javac": ["default-jdk-headless"],
    "Xvfb": ["xvfb"],
    "openssl": ["openssl"],
    "sbatch": ["slurm-wlm"],
    "munge": ["munge"],
}
# Specimens whose dependencies Maven has to download; the others need nothing else.
MAVEN_SPECIMENS = ["rerun/java/maven_modules", "rerun/java/testng", "variance/java/assertions", "assertion_filter/java/shop"]
# The combinations of versions that are tested by default.
JAVA_VERSIONS = "rerun/java/versions"


def runs(*command):
    """Whether a program exists and succeeds."""
    try:
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def has_googletest():
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / "it.cc"
        source.write_text("#if !__has_include(<gtest/gtest.h>)\n#error\n#endif\nint main() {}\n")
        return runs("g++", str(source), "-lgtest", "-lpthread", "-o", str(source.with_suffix("")))


def has_postgres():
    # Debian does not put the server programs into PATH.
    return any(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or shutil.which("initdb") is not None


def has_pgbouncer():
    # Debian puts it beside the programs of the administrator.
    return Path("/usr/sbin/pgbouncer").exists() or shutil.which("pgbouncer") is not None


def has_perl_module():
    return runs("perl", "-M" + PERL_MODULE, "-e", "1")


def has_window_toolkit():
    """Whether the JDK is not headless: Swing tests need more."""
    java = shutil.which("java")
    return java is not None and any(Path(java).resolve().parent.parent.glob("**/libawt_xawt.so"))


def missing_packages():
    missing = {package for program, packages in PROGRAMS.items() if shutil.which(program) is None for package in packages}
    checks = {
        "libgtest-dev": has_googletest,
        "postgresql": has_postgres,
        "pgbouncer": has_pgbouncer,
        "libtap-formatter-junit-perl": has_perl_module,
        "default-jre": has_window_toolkit,
    }
    return sorted(missing | {package for package, is_there in checks.items() if not is_there()})


def ensure_packages():
    missing = missing_packages()
    if not missing:
        return
    print("installing", ", ".join(missing), flush=True)
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    apt = root + ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=120"]
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    install = apt + ["install", "-y", *missing]
    try:
        if subprocess.run(install, env=environment, stdout=subprocess.DEVNULL).returncode != 0:
            # The package lists may never have been fetched.
            subprocess.run(apt + ["update"], check=True, env=environment, stdout=subprocess.DEVNULL)
            subprocess.run(install, check=True, env=environment, stdout=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        sys.exit("\napt-get cannot install %s; install it by hand and start again" % " and ".join(missing))
    still = missing_packages()
    if still:
        sys.exit("\n%s does not work after its installation" % " and ".join(still))


class Tool:
    """A directory in `.venvs` that is made once. `receipt` names what is in it, `works` checks it, `make` makes it."""

    def __init__(self, name, receipt, works, make):
        self.directory, self.receipt, self.works, self.make = VENVS / name, receipt, works, make

    def is_complete(self):
        try:
            # The receipt is written last.
            return (self.directory / "complete").read_text() == self.receipt and self.works(self.directory)
        except OSError:
            return False

    def ensure(self):
        if self.is_complete():
            return
        began = time.monotonic()
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        self.make(self.directory)
        if not self.works(self.directory):
            sys.exit("\n%s does not work" % os.path.relpath(self.directory))
        (self.directory / "complete").write_text(self.receipt)
        print("made %s: %.0f s" % (os.path.relpath(self.directory), time.monotonic() - began), flush=True)


def quick_python():
    """The interpreter of the system where it will do: distributions optimize theirs, version managers often do not. The
    tests start pytest thousands of times, and an optimized interpreter takes three quarters of the time."""
    of_system = "/usr/bin/python3"
    will_do = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))"
    return of_system if runs(of_system, "-c", will_do) else sys.executable


def python_tool(name, version, packages, modules):
    def make(directory):
        subprocess.run([quick_python(), "-m", "venv", str(directory)], check=True)
        pip = [str(directory / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run(pip + packages, check=True)

    works = lambda directory: runs(str(directory / "bin" / "python"), "-c", "import " + modules)
    return Tool(name, "\n".join([version] + packages), works, make)


def make_project_tools(directory):
    subprocess.run([sys.executable, "-m", "venv", str(directory)], check=True)
    python = str(directory / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "uv"], check=True)
    subprocess.run([str(directory / "bin" / "uv"), "pip", "install", "--quiet", "--python", python, *PROJECT_TOOLS], check=True)


def make_go(directory):
    environment = dict(os.environ, GOBIN=str(directory / "bin"), GOFLAGS="-mod=mod", GOCACHE=str(directory / "cache"))
    subprocess.run(["go", "install", GOTESTSUM], check=True, env=environment, stderr=subprocess.DEVNULL, cwd=str(directory))


def make_vitest(directory):
    # Without it npm takes a directory above for the project.
    (directory / "package.json").write_text('{"private": true}\n')
    subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", VITEST], check=True, cwd=str(directory))


def make_cargo_tool(name, version, *options):
    def make(directory):
        # A quick build matters more than a quick program.
        profile = {"LTO": "off", "OPT_LEVEL": "0", "CODEGEN_UNITS": "16", "DEBUG": "false", "INCREMENTAL": "false"}
        environment = dict(os.environ, **{"CARGO_PROFILE_RELEASE_" + key: value for key, value in profile.items()})
        target = directory / "target"
        command = ["cargo", "install", name, "--version", version, "--locked", "--quiet", *options]
        command += ["--root", str(directory), "--target-dir", str(target)]
        subprocess.run(command, check=True, env=environment)
        shutil.rmtree(str(target))

    return make


def make_maven_repository(_directory):
    """Downloads what specimens need to the local Maven repository, so that they build offline."""
    for specimen, options in maven_builds():
        with tempfile.TemporaryDirectory() as place:
            project = Path(place) / "it"
            shutil.copytree(str(ROOT / "specimens" / specimen), str(project), ignore=shutil.ignore_patterns("target"))
            command = ["mvn", "-q", "-B", "test", "-Dmaven.test.failure.ignore=true", *options]
            # The tests of the specimens print whatever they like.
            ran = subprocess.run(command, cwd=str(project), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if ran.returncode != 0:
                sys.exit("\n%s does not build:\n%s" % (specimen, ran.stdout.decode(errors="replace")))


def maven_builds():
    """Specimens and the options of Maven with which they download what they need."""
    builds = [(specimen, []) for specimen in MAVEN_SPECIMENS]
    # Lines of TOML, which Python reads only from 3.11 on.
    cells = (ROOT / "specimens" / JAVA_VERSIONS / "specimen.toml").read_text()
    for line in cells.splitlines():
        cell = dict(re.findall(r'(\w+) = "([^"]+)"', line))
        if "quick = true" in line:
            usual = {"3": "junit3", "4": "junit4", "5": "jupiter", "7": "testng"}[cell["version"][0]]
            sources = cell.get("sources", usual)
            versions = ["-Dsurefire=" + cell["surefire"], "-Djunit=" + cell["version"], "-Dtests=" + sources]
            builds.append((JAVA_VERSIONS, ["-P" + cell["framework"]] + versions))
    # The provider of parallel tests, which Surefire downloads when it is used.
    builds.append((JAVA_VERSIONS, ["-Pjunit", "-Djunit=4.13.2", "-Dtests=junit4", "-Dparallel=classes", "-DthreadCount=2"]))
    builds.append((JAVA_VERSIONS, ["verify", "-Pjunit,integration", "-Dtests=integration"]))
    return builds


def maven_receipt():
    specimens = MAVEN_SPECIMENS + [JAVA_VERSIONS]
    poms = [pom for specimen in specimens for pom in sorted((ROOT / "specimens" / specimen).rglob("pom.xml"))]
    return hashlib.sha256(b"".join(pom.read_bytes() for pom in poms) + str(maven_builds()).encode()).hexdigest()


def has_maven_repository(_directory):
    return (Path.home() / ".m2/repository/org/junit").is_dir()


def tools():
    version = subprocess.run([quick_python(), "-VV"], stdout=subprocess.PIPE).stdout.decode()
    if "UNFLAKE_TEST_PYTHON" not in os.environ:
        yield python_tool("e2e", version, PACKAGES, "pytest, junitparser, numpy, playwright, selenium")
        yield python_tool("e2e-plugins", version, PLUGINS, "pytest, xdist, pytest_cov")
    yield python_tool("reapi", version, REAPI, "buildgrid, grpc, psycopg2")
    receipt = "\n".join([sys.version] + PROJECT_TOOLS)
    have = lambda directory: all(runs(str(directory / "bin" / tool), "--version") for tool in PROJECT_TOOLS)
    yield Tool("project-tools", receipt, have, make_project_tools)
    yield Tool("go", GOTESTSUM, lambda directory: runs(str(directory / "bin/gotestsum"), "--version"), make_go)
    vitest = "node_modules/.bin/vitest"
    yield Tool("vitest", VITEST, lambda directory: runs(str(directory / vitest), "--version"), make_vitest)
    nextest = make_cargo_tool("cargo-nextest", NEXTEST, "--no-default-features", "--features", "default-no-update")
    yield Tool("cargo", NEXTEST, lambda directory: runs(str(directory / "bin/cargo-nextest"), "nextest", "--version"), nextest)
    yield Tool("maven", maven_receipt(), has_maven_repository, make_maven_repository)
    deny = make_cargo_tool("cargo-deny", DENY)
    yield Tool("deny", DENY, lambda directory: runs(str(directory / "bin/cargo-deny"), "--version"), deny)


def main():
    ensure_packages()
    # Some wait for downloads while others compile.
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for _ in pool.map(Tool.ensure, tools()):
            pass


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit("\nthe setup of the end-to-end tests failed: %s" % error)
