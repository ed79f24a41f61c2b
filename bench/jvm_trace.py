"""What the ordered trace of a JVM costs, side by side: `python3 bench/jvm_trace.py`.

The tests of released modules (those of `bench/jvm.py`), a whole module in one JVM, run by the agent for JUnit: as it is, and with every
line of the module and of its tests recorded. Both take turns. Traces go to TMPDIR; of one run the first 268 million events are kept
(1 GiB), which is four times what unflake keeps of an attempt, and the others are counted.
"""

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

import jvm

AGENT = jvm.ROOT / "agents" / "jvm" / "agent"
CLASS_PATH = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath"
MARK = "<bench>"
HEAD = 256
MOST = 1 << 28


class Module:
    """A module, what its JVM needs, and the keys of its tests."""

    def __init__(self, name, place, java):
        self.project, self.place, self.java = jvm.project(name), Path(place), java
        jars = self.place / "class-path"
        jvm.quiet(["mvn", "-o", "-q", "-B", CLASS_PATH, "-Dmdep.outputFile=%s" % jars, "-Dmdep.includeScope=test"], self.project, (0,))
        classes = [str(self.project / "target" / folder) for folder in ("test-classes", "classes")]
        surefire = self.launcher(jars.read_text())
        self.class_path = os.pathsep.join([str(self.agent(jars.read_text() + surefire)), *classes, jars.read_text() + surefire])
        names = sorted(report.stem.removeprefix("TEST-") for report in (self.project / "target" / "surefire-reports").glob("TEST-*.xml"))
        (self.place / "surefire").write_text("".join("tc.%d=%s\n" % one for one in enumerate(names)))
        (self.place / "system").write_text("")
        (self.place / "lines").write_text("".join("%s\n" % (self.project / "src" / part / "java") for part in ("main", "test")))
        output = self.run([], "-")
        (self.place / "order").write_text("".join("%s\n" % word["test"] for word in output if "test" in word))

    @staticmethod
    def launcher(jars):
        """Surefire brings the launcher of the JUnit Platform, where it is needed; of the version that fits."""
        version = re.search(r"junit-platform-engine-([\d.]+)\.jar", jars)
        if not version:
            return ""
        found = sorted(Path.home().glob(".m2/repository/org/junit/platform/junit-platform-launcher/%s/*.jar" % version[1]))
        return os.pathsep + str(found[0])

    def agent(self, jars):
        classic = bool(re.search(r"/junit-4", jars))
        adapters = {"platform": "junit-platform" in jars, "junit4": classic, "junit3": classic, "testng": "/testng-" in jars, "warmup": False}
        sources = [str(source) for source in AGENT.rglob("*.java") if adapters.get(source.parent.name, True)]
        classes, jar = self.place / "agent", self.place / "agent.jar"
        tool = lambda name: str(Path(self.java).with_name(name))
        jvm.quiet([tool("javac"), "-nowarn", "-proc:none", "-cp", jars, "-d", str(classes), *sources], self.place, (0,))
        jvm.quiet([tool("jar"), "c0fm", str(jar), str(AGENT / "MANIFEST.MF"), "-C", str(classes), "."], self.place, (0,))
        return jar

    def run(self, options, order):
        """What it says."""
        words = [self.java, *options, "-ea", "-cp", self.class_path, "unflake.jvm.Main", MARK]
        words += [str(self.place / name) for name in ("surefire", "system")] + [order]
        limits = dict.fromkeys(("UNFLAKE_TRACE_THREAD_EVENTS", "UNFLAKE_TRACE_EVENTS"), str(MOST))
        settings = dict(os.environ, UNFLAKE_TRACE=str(self.place / "trace"), **limits)
        done = subprocess.run(words, cwd=self.project, env=settings, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        output = re.findall(re.escape(MARK) + r"(\{.*?\})" + re.escape(MARK), done.stdout.decode(errors="replace"))
        return [json.loads(word) for word in output]

    def timed(self, options):
        """Seconds, seconds of CPU, outcomes, events."""
        began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        output = self.run(options, str(self.place / "order"))
        took, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        trace = self.place / "trace"
        events = sum(came(one) for one in trace.rglob("thread-*"))
        shutil.rmtree(trace, ignore_errors=True)
        return took, cpu, {word["done"]: word["outcome"] for word in output if "done" in word}, events


def came(thread):
    """How many events a thread came to, kept or not; what was left empty of the last piece is not distinguished."""
    with thread.open("rb") as file:
        dropped = int.from_bytes(file.read(HEAD)[40:48], "little")
    return (thread.stat().st_size - HEAD) // 4 + dropped


def main():
    words = argparse.ArgumentParser()
    words.add_argument("modules", nargs="*", default=sorted(jvm.MODULES))
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument("--values", action="store_true", help="with the values, as `unflake locate` has it")
    words.add_argument("--java", default=shutil.which("java"))
    given = words.parse_args()
    java = os.path.realpath(given.java)
    print("| module | tests | plain, s | traced, s | wall | plain, s of CPU | traced | CPU | events, million |\n|---|---|---|---|---|---|---|---|---|")
    for name in given.modules:
        with tempfile.TemporaryDirectory(prefix="jvm-trace-") as place:
            module = Module(name, place, java)
            hook = ["-javaagent:%s/agent.jar=%s=%s/lines" % (place, "values" if given.values else "lines", place)]
            pairs = [(module.timed([]), module.timed(hook)) for _ in range(given.rounds)]
        if any(plain[2] != traced[2] for plain, traced in pairs):
            print("%s: outcomes differ" % name)
        plain, traced = zip(*pairs)
        ratio = lambda at: median(two[at] / one[at] for one, two in pairs)
        at = lambda runs, at: median(run[at] for run in runs)
        print(
            "| %s | %d | %.1f | %.1f | %.2f | %.1f | %.1f | %.2f | %.1f |"
            % (name, len(plain[0][2]), at(plain, 0), at(traced, 0), ratio(0), at(plain, 1), at(traced, 1), ratio(1), at(traced, 3) / 1e6),
            flush=True,
        )


if __name__ == "__main__":
    main()
