"""unflake against plain `mvn test` on released modules with their own tests: `python3 bench/jvm.py`.

Sources and test sources come from Maven Central, each in a small project of its own in the temporary directory. First the outcomes
are compared, test for test, with those that Surefire reports; then the two are timed side by side, both with everything compiled.
`--nio` compares `unflake nio` in isolated-method mode with entire-suite mode. `--files` compares Surefire's JVM with the same JVM while
it is seen which files it uses, which is all that knowing the dependencies of its tests costs while they run.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
import zipfile
from collections import Counter
from pathlib import Path
from statistics import median
from tempfile import gettempdir

ROOT = Path(__file__).resolve().parent.parent
PLACE = Path(gettempdir()) / "unflake-bench-jvm"
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
JUPITER = ["org.junit.jupiter:junit-jupiter:5.10.2"]
# Of each: where it is, what its tests need, and tests that are left out.
MODULES = {
    "commons-cli": ("commons-cli:commons-cli:1.8.0", JUPITER + ["org.junit.vintage:junit-vintage-engine:5.10.2", "commons-io:commons-io:2.16.1"], []),
    "commons-codec": (
        "commons-codec:commons-codec:1.17.1",
        JUPITER + ["commons-io:commons-io:2.16.1", "org.apache.commons:commons-lang3:3.14.0", "org.hamcrest:hamcrest:2.2"],
        # They take as much memory as there is.
        ["**/BaseNCodecTest.java", "**/Base64Test.java", "**/Base32Test.java"],
    ),
    "commons-collections4": (
        "org.apache.commons:commons-collections4:4.4",
        ["junit:junit:4.12", "org.easymock:easymock:4.0.2", "org.apache.commons:commons-lang3:3.9"],
        [],
    ),
}
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>bench</groupId><artifactId>%(name)s</artifactId><version>1</version>
  <properties>
    <maven.compiler.source>8</maven.compiler.source><maven.compiler.target>8</maven.compiler.target>
    <project.build.sourceEncoding>%(encoding)s</project.build.sourceEncoding>
  </properties>
  <dependencies>%(dependencies)s</dependencies>
  <build><plugins>
    <plugin><artifactId>maven-surefire-plugin</artifactId><version>3.2.5</version>
      <configuration><excludes><exclude>%%regex[.*\\$.*]</exclude>%(excludes)s</excludes></configuration></plugin>
  </plugins></build>
</project>
"""


def quiet(command, cwd, exits=(0, 1)):
    done = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode not in exits:
        raise SystemExit("%s left with %d:\n%s" % (" ".join(command), done.returncode, done.stdout.decode(errors="replace")[-3000:]))
    return done.stdout.decode(errors="replace")


def project(name):
    """The project of a module, compiled."""
    coordinates, dependencies, excludes = MODULES[name]
    place = PLACE / name
    if (place / "complete").exists():
        return place
    print("making", name, file=sys.stderr, flush=True)
    (place / "jars").mkdir(parents=True, exist_ok=True)
    for part, folder in (("sources", "main"), ("test-sources", "test")):
        quiet(["mvn", "-q", "-B", COPY, "-Dartifact=%s:jar:%s" % (coordinates, part), "-DoutputDirectory=jars"], place, (0,))
        artifact, version = coordinates.split(":")[1:]
        with zipfile.ZipFile(place / "jars" / ("%s-%s-%s.jar" % (artifact, version, part))) as jar:
            for entry in jar.namelist():
                kind = "java" if entry.endswith(".java") else "resources"
                if not entry.endswith("/") and not entry.startswith("META-INF/") and not entry.endswith("module-info.java"):
                    target = place / "src" / folder / kind / entry
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(jar.read(entry))
    wanted = [dict(zip(("group", "artifact", "version"), one.split(":"))) for one in dependencies]
    text = "<dependency><groupId>%(group)s</groupId><artifactId>%(artifact)s</artifactId><version>%(version)s</version><scope>test</scope></dependency>"
    encoding = "ISO-8859-1" if name == "commons-collections4" else "UTF-8"
    excluded = "".join("<exclude>%s</exclude>" % one for one in excludes)
    filled = {"name": name, "dependencies": "".join(text % one for one in wanted), "excludes": excluded, "encoding": encoding}
    (place / "pom.xml").write_text(POM % filled)
    quiet(["mvn", "-q", "-B", "test", "-Dmaven.test.failure.ignore=true"], place, (0,))
    (place / "complete").touch()
    return place


def surefire(place):
    """How often each test ended how, as Surefire reports it. Repetitions and dynamic tests have one name there."""
    outcomes = Counter()
    for report in (place / "target" / "surefire-reports").glob("TEST-*.xml"):
        for case in ElementTree.parse(report).iter("testcase"):
            kinds = {child.tag for child in case}
            outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
            outcomes["%s#%s" % (case.get("classname"), case.get("name")), outcome] += 1
    return outcomes


def ours(found):
    outcomes = Counter()
    seen = set()
    for attempt in found["attempts"]:
        if attempt["test"] in seen:
            continue
        seen.add(attempt["test"])
        outcome = attempt["outcome"] if attempt["outcome"] in ("passed", "skipped") else "failed"
        name = re.sub(r" \(\d+\)$", "", attempt["test"])
        outcomes[name, outcome] += 1
    return outcomes


def without_numbers(outcomes):
    """Surefire does not number repetitions without arguments, and reports each dynamic test by the name of its factory."""
    merged = {}
    for (name, outcome), _ in outcomes.items():
        bare = re.sub(r"(#[^(\[]+)\[\d+\]$", r"\1", name)
        merged.setdefault(bare, set()).add(outcome)
    return merged


def timed(command, place):
    """Seconds on the clock, and of all cores."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    quiet(command, place)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - began, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def tell(what, times):
    for at, unit in enumerate(("s", "s of CPU")):
        one, two = median(one[at] for one, _ in times), median(two[at] for _, two in times)
        ratio = median(two[at] / one[at] for one, two in times)
        print("%s: %.1f and %.1f %s, %.2f times (median of %d)" % (what, one, two, unit, ratio, len(times)), flush=True)


def java(name, variables):
    """A `java` for Surefire that sets these first."""
    real = Path(os.path.realpath(subprocess.check_output(["which", "java"], text=True).strip()))
    place = PLACE / ("java-" + name)
    (place / "bin").mkdir(parents=True, exist_ok=True)
    (place / "release").write_bytes((real.parent.parent / "release").read_bytes())
    script = place / "bin" / "java"
    script.write_text("#!/bin/sh\n%s exec %s \"$@\"\n" % (" ".join("%s=%s" % one for one in variables), real))
    script.chmod(0o755)
    return "-Djvm=%s" % script


def files(name, place, rounds, plain):
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "unflake"
    library = max(cache.glob("trace-*/libunflake_trace.so"), key=lambda path: path.stat().st_mtime)
    seen = [("LD_PRELOAD", library), ("UNFLAKE_TRACE", "$(mktemp -d %s/files-XXXXXX)/it" % PLACE)]
    one, two = java("plain", []), java("seen", seen)
    quiet(plain + [one], place)
    times = [(timed(plain + [one], place), timed(plain + [two], place)) for _ in range(rounds)]
    kept = [len(part.read_text(errors="replace").splitlines()) for part in PLACE.glob("files-*/it/*/files")]
    print("%s: %d paths were seen" % (name, max(kept)), flush=True)
    tell("%s: mvn test, with files seen" % name, times)
    subprocess.run("rm -rf %s/files-*" % PLACE, shell=True)


def main():
    words = argparse.ArgumentParser()
    words.add_argument("modules", nargs="*", default=sorted(MODULES))
    words.add_argument("--unflake", default=str(Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "unflake"))
    words.add_argument("--rounds", type=int, default=3)
    words.add_argument("--nio", action="store_true")
    words.add_argument("--files", action="store_true")
    given = words.parse_args()
    plain = ["mvn", "-o", "-B", "test", "-Dmaven.test.failure.ignore=true"]
    for name in given.modules:
        place = project(name)
        result = place / "unflake.json"
        run = [given.unflake, "run", "--immediate=0", "--at-end=0", "--fresh=0", "--json", str(result), "--", "mvn", "-o", "-B", "test"]
        if given.files:
            files(name, place, given.rounds, plain)
            continue
        if given.nio:
            nio = lambda mode: timed([given.unflake, "nio", "--mode", mode, "--for", "1h", "--", "mvn", "-o", "-B", "test"], place)
            tell("%s: nio entire-suite, isolated-method" % name, [(nio("entire-suite"), nio("isolated-method"))])
            continue
        quiet(["rm", "-rf", "target/surefire-reports"], place)
        quiet(plain, place)
        theirs = surefire(place)
        quiet(run, place)
        found = ours(json.loads(result.read_text()))
        one, two = without_numbers(theirs), without_numbers(found)
        differing = sorted(test for test in one.keys() | two.keys() if one.get(test) != two.get(test))
        print("%s: Surefire reports %d tests, unflake %d; %d names, %d differ" % (
            name, sum(theirs.values()), sum(found.values()), len(one), len(differing)), flush=True)
        for test in differing[:10]:
            print("   ", test, one.get(test), two.get(test))
        times = [(timed(plain, place), timed(run, place)) for _ in range(given.rounds)]
        tell("%s: mvn test, unflake run" % name, times)


if __name__ == "__main__":
    main()
