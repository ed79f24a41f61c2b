"""What an ordered trace of native code costs, side by side in one run: `python3 bench/native_trace.py`.

The same sources are built plain, traced, and with rustc's own coverage, which counts and keeps no order. The traced
build runs with the trace on and off (linked, and disabled). Contenders take turns, so that whatever else the machine
does meets all of them. "own places" is what runs from the second on cost, when it is known which places of a program are
the project's own and not generic code of libraries.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from measure import Contender, least, median, once

REPOSITORY = Path(__file__).resolve().parent.parent

MICRO = {
    "Cargo.toml": '[package]\nname = "micro"\nversion = "0.1.0"\nedition = "2021"\n[workspace]\n',
    "src/lib.rs": """
pub fn collatz(limit: u64) -> u64 {
    let mut steps = 0;
    for start in 1..limit {
        let mut n = start;
        while n != 1 {
            n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
            steps += 1;
        }
    }
    steps
}

#[test]
fn tight_loop() {
    assert!(collatz(100_000) > 1000);
}

#[test]
fn channel() {
    let (send, receive) = std::sync::mpsc::channel();
    let (back, answers) = std::sync::mpsc::channel();
    let worker = std::thread::spawn(move || {
        for one in receive {
            back.send(one + 1u64).unwrap();
        }
    });
    let mut sum = 0;
    for i in 0..200_000 {
        send.send(i).unwrap();
        if i % 64 == 63 {
            for _ in 0..64 {
                sum += answers.recv().unwrap();
            }
        }
    }
    drop(send);
    worker.join().unwrap();
    assert!(sum > 0);
}
""",
}

# Tests of one released crate each, which need nothing that is not in the crate itself.
REAL = {"regex-syntax": "0.8.11", "semver": "1.0.28"}


@dataclass
class Build:
    name: str
    variables: dict
    flags: str = ""


class Bench:
    def __init__(self, directory, attempts):
        self.directory, self.attempts = directory, attempts
        subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "unflake-observe"], cwd=REPOSITORY, check=True)
        target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
        self.tool = (REPOSITORY / target / "release" / "unflake-traced-rustc").resolve()
        self.cache = directory / "cache"
        output = subprocess.run([self.tool, "lay-out", self.cache], check=True, capture_output=True, text=True)
        self.runtime = output.stdout.strip()
        plain = {name: value for name, value in os.environ.items() if not name.startswith("UNFLAKE_")}
        for name in ("CARGO_TARGET_DIR", "RUSTFLAGS", "RUSTC_WORKSPACE_WRAPPER"):
            plain.pop(name, None)
        self.plain = {**plain, "LLVM_PROFILE_FILE": str(directory / "profile-%p")}
        self.builds = [
            Build("plain", {}),
            Build("traced", {"RUSTC_WORKSPACE_WRAPPER": str(self.tool), "UNFLAKE_RUSTC": self.runtime}),
            Build("coverage", {"RUSTFLAGS": "-Cinstrument-coverage"}),
        ]

    def micro(self):
        return self.write("micro", MICRO)

    def write(self, name, files):
        root = self.directory / name
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return root

    def real(self, name):
        """The sources of a released crate, as a project of its own."""
        manifest = '[package]\nname = "asks"\nversion = "0.1.0"\nedition = "2021"\n[workspace]\n[dependencies]\n'
        asks = self.write("asks-" + name, {"Cargo.toml": manifest + '%s = "=%s"\n' % (name, REAL[name]), "src/lib.rs": ""})
        output = subprocess.run(
            ["cargo", "metadata", "--format-version", "1"], cwd=asks, env=self.plain, check=True, capture_output=True
        )
        found = next(package for package in json.loads(output.stdout)["packages"] if package["name"] == name)
        root = self.directory / name
        shutil.copytree(Path(found["manifest_path"]).parent, root)
        with open(root / "Cargo.toml", "a") as manifest:
            manifest.write("\n[workspace]\n")
        return root

    def programs(self, root, profile, target):
        """The test program of each build."""
        found = {}
        for build in self.builds:
            variables = {**self.plain, **build.variables, "CARGO_TARGET_DIR": str(root / "target" / build.name)}
            command = ["cargo", "test", "--no-run", "--message-format=json", *target]
            command += ["--release"] if profile == "release" else []
            output = subprocess.run(command, cwd=root, env=variables, check=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL)
            messages = (json.loads(line) for line in output.stdout.splitlines())
            found[build.name] = next(message["executable"] for message in messages if message.get("executable"))
        return found

    def compare(self, root, profile, target, arguments, times):
        programs = self.programs(root, profile, target)
        attempt = self.attempts / "attempt"
        tracing = {
            "UNFLAKE_TRACE": str(attempt),
            "UNFLAKE_TRACE_THREAD_EVENTS": str(1 << 31),
            "UNFLAKE_TRACE_EVENTS": str(1 << 31),
        }
        own = {**self.plain, **tracing, "UNFLAKE_TRACE_OWN": str(root / "own" / profile)}
        contenders = [
            Contender("plain", [programs["plain"], *arguments], root, self.plain),
            Contender("traced, off", [programs["traced"], *arguments], root, self.plain),
            Contender("traced, on", [programs["traced"], *arguments], root, {**self.plain, **tracing}),
            Contender("traced, own places", [programs["traced"], *arguments], root, own),
            Contender("-C instrument-coverage", [programs["coverage"], *arguments], root, self.plain),
        ]
        once(contenders[2])
        output = [self.tool, "own", attempt, self.cache, root, own["UNFLAKE_TRACE_OWN"]]
        subprocess.run(output, check=True, env=self.plain)
        costs = {contender.name: [] for contender in contenders}
        for round in range(times + 1):
            for contender in contenders if round % 2 == 0 else reversed(contenders):
                shutil.rmtree(attempt, ignore_errors=True)
                cost = once(contender)
                if round > 0:
                    costs[contender.name].append(cost)
        found = []
        for contender in contenders[2:4]:
            shutil.rmtree(attempt, ignore_errors=True)
            once(contender)
            found.append((*self.read(attempt), sum(file.stat().st_size for file in attempt.rglob("thread-*"))))
        return costs, found

    def read(self, attempt):
        """Events of an attempt, and what it costs to symbolise it with nothing known and with everything known."""
        reads = []
        for _ in range(2):
            for table in attempt.glob("*/places"):
                table.unlink()
            reads.append(once(Contender("read", [self.tool, "read", attempt, self.cache], None, self.plain)).wall)
        output = subprocess.run([self.tool, "read", attempt, self.cache], check=True, capture_output=True, text=True)
        return int(output.stdout), reads[0], reads[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=7, help="runs of each contender")
    arguments = parser.parse_args()
    rows, reads = [], []
    # In memory, where the system has a place for that: on a disk, making the files of a small test costs more than its trace.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory(dir=memory) as attempts:
        bench = Bench(Path(directory), Path(attempts))
        micro = bench.micro()
        one = ["--test-threads=1"]
        work = [
            ("tight loop", micro, "release", ["--lib"], ["tight_loop", *one]),
            ("tight loop", micro, "dev", ["--lib"], ["tight_loop", *one]),
            ("channel", micro, "release", ["--lib"], ["channel", *one]),
            ("channel", micro, "dev", ["--lib"], ["channel", *one]),
        ]
        for name in REAL:
            root = bench.real(name)
            # Of the larger one only the parser: what it does with Unicode's tables is a trace of gigabytes.
            target, words = (["--lib"], ["ast::parse"]) if name == "regex-syntax" else (["--test", "test_version_req"], [])
            work += [("tests of " + name, root, profile, target, words + one) for profile in ("dev", "release")]
        for name, root, profile, target, words in work:
            costs, found = bench.compare(root, profile, target, words, arguments.times)
            base = costs["plain"]
            events = dict(zip(["traced, on", "traced, own places"], (all for all, *_ in found)))
            for contender, its in costs.items():
                more = least(its, "cpu") - least(base, "cpu")
                rows.append([
                    "%s, %s" % (name, profile), contender,
                    "%.1f" % (median(its, "wall") * 1000), "%.2f" % (median(its, "wall") / median(base, "wall")),
                    "%.2f" % (least(its, "cpu") / least(base, "cpu")),
                    "%.1f" % (more / events[contender] * 1e9) if contender == "traced, on" else "",
                ])
                print("  …", *rows[-1], sep="  ", file=sys.stderr, flush=True)
            for contender, (all, cold, warm, size) in zip(events, found):
                reads.append(["%s, %s" % (name, profile), contender, "{:,}".format(all), "{:,}".format(size),
                              "%.0f" % (cold * 1000), "%.0f" % (warm * 1000)])
    table("What it costs (%d runs each, in turns)" % arguments.times,
          ["what", "build", "wall ms, median", "× plain", "CPU × plain, least", "ns an event"], rows)
    table("What it leaves", ["what", "build", "events", "bytes", "read and symbolised, ms", "again, ms"], reads)


def table(title, columns, rows):
    lines = [columns, ["---"] * len(columns), *rows]
    print("### %s\n\n%s\n" % (title, "\n".join("| %s |" % " | ".join(line) for line in lines)))


if __name__ == "__main__":
    main()
