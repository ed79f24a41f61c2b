"""Whether a factor is blamed where nothing is wrong: `python3 bench/factors.py [SUITE…]`.

Released suites, each as one thing that fails if one of its tests does (`unflake factors --together`). Nothing should be blamed,
unless the suite does depend on it: then the tests are named, and need a review.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time

import suites


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", default=["click", "jinja2", "marshmallow"])
    parser.add_argument("--only", default="", help="a part of the names of the tests")
    parser.add_argument("--for", dest="time", default="20m", help="how long each may take")
    arguments = parser.parse_args()
    subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "unflake"], cwd=suites.ROOT, check=True)
    unflake = str(suites.TARGET / "release" / "unflake")
    print("| suite | tests | worlds | runs | seconds | blamed |\n|---|---|---|---|---|---|")
    for name in arguments.suites:
        suite = suites.real(name)
        with tempfile.TemporaryDirectory() as place:
            found = os.path.join(place, "found.json")
            words = [unflake, "factors", "--together", "--json", found, "--html", os.path.join(place, "page.html")]
            words += ["--for", arguments.time] + ([arguments.only] if arguments.only else [])
            began = time.monotonic()
            ran = subprocess.run(
                [*words, "--", *suite.pytest()], cwd=suite.directory, env=suite.variables(), capture_output=True, text=True
            )
            took = time.monotonic() - began
            if ran.returncode not in (0, 1):
                raise SystemExit("%s: exit %d\n%s%s" % (name, ran.returncode, ran.stdout, ran.stderr))
            with open(found) as file:
                document = json.load(file)
        first = document["findings"][0]
        blamed = [one["sentence"] for one in document["findings"] if one["kind"] != "none"]
        tests = {one["test"] for one in document["attempts"]}
        row = name, len(tests), len(first["plan"]), first["runs"], "%.0f" % took, "; ".join(blamed) or "nothing"
        print("| %s |" % " | ".join(map(str, row)), flush=True)


if __name__ == "__main__":
    main()
