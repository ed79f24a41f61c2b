"""What it costs to tell what runs in a JVM looked like, side by side: `python3 bench/layers_jvm.py`.

The tests of released modules (those of `bench/jvm.py`), a whole module in one JVM, run by the agent for JUnit: as it is, and with each
layer. They take turns, and every outcome is compared with that of the plain run, test for test. Ratios are medians of pairs.
"""

import argparse
import os
import shutil
import tempfile
from pathlib import Path
from statistics import median

import jvm
from jvm_trace import Module

LAYERS = "assertion", "code", "branch", "behaviour", "interface"
MODES = {**{layer: layer for layer in LAYERS}, "all": ",".join(LAYERS)}


def option(module, place, mode):
    """The option of the JVM for these layers."""
    sources = [str(module.project / "src" / part / "java") for part in ("main", "test")]
    file = Path(place) / ("layers-of-" + mode)
    recorded = Path(place) / "recorded"
    recorded.mkdir(exist_ok=True)
    file.write_text("\n".join([MODES[mode], str(recorded), str(module.project), *sources]) + "\n")
    Path(str(file) + ".sites").write_text("")
    return ["-javaagent:%s/agent.jar=layers=%s" % (place, file)], recorded


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("modules", nargs="*", default=sorted(jvm.MODULES))
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument("--modes", nargs="*", default=list(MODES))
    words.add_argument("--java", default=shutil.which("java"))
    given = words.parse_args()
    java = os.path.realpath(given.java)
    print("| module | tests | layers | CPU s | × plain | wall s | × plain | recorded, MB | other outcomes |\n|---|--:|---|--:|--:|--:|--:|--:|--:|")
    for name in given.modules:
        with tempfile.TemporaryDirectory(prefix="jvm-layers-") as place:
            module = Module(name, place, java)
            for mode in given.modes:
                plain, observed, size = [], [], 0
                for _ in range(given.rounds):
                    plain.append(module.timed([]))
                    hook, recorded = option(module, place, mode)
                    observed.append(module.timed(hook))
                    size = sum(file.stat().st_size for file in recorded.iterdir())
                    shutil.rmtree(recorded)
                ratio = lambda at: median(two[at] / one[at] for one, two in zip(plain, observed))
                differ = sum(one[2].get(test) != outcome for one, two in zip(plain, observed) for test, outcome in two[2].items())
                differ += sum(len(one[2]) != len(two[2]) for one, two in zip(plain, observed))
                cells = name, len(plain[0][2]), mode, median(one[1] for one in observed), ratio(1), median(one[0] for one in observed), ratio(0)
                print("| %s | %d | %s | %.1f | %.2f | %.1f | %.2f | %.1f | %d |" % (*cells, size / 1e6, differ), flush=True)


if __name__ == "__main__":
    main()
