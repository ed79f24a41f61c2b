"""Makes the virtual environment that the end-to-end stories use: `python3 e2e/setup.py`.

It is `.venvs/e2e` at the top of the repository, with the newest pytest and what the stories need beside it. Where it is
already there and complete, nothing is done. A half-made one (an interrupted set-up, an interpreter that has gone) is made
anew. UNFLAKE_TEST_PYTHON names another Python to be used by the stories instead; then nothing is made.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

PLACE = Path(__file__).resolve().parent.parent / ".venvs" / "e2e"
# pytest itself, an independent reader of JUnit reports, and the two plugins that change most of what a run is.
PACKAGES = ["pytest", "junitparser", "pytest-xdist", "pytest-cov"]
# Written last, so it is there only if everything before it went well.
RECEIPT = PLACE / "complete"


def is_complete():
    try:
        made_of = RECEIPT.read_text()
    except OSError:
        return False
    imports = "import pytest, junitparser, xdist, pytest_cov"
    python = PLACE / "bin" / "python"
    return made_of == receipt() and subprocess.run([python, "-c", imports], stderr=subprocess.DEVNULL).returncode == 0


def receipt():
    return "\n".join([sys.version] + PACKAGES)


def main():
    if "UNFLAKE_TEST_PYTHON" in os.environ or is_complete():
        return
    print("making", os.path.relpath(PLACE), flush=True)
    shutil.rmtree(PLACE, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(PLACE)], check=True)
    pip = [str(PLACE / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run(pip + PACKAGES, check=True)
    RECEIPT.write_text(receipt())


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit("the set-up of the end-to-end tests failed: %s" % error)
