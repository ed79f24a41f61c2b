import subprocess
from pathlib import Path

SCRIPT = Path(__file__).with_name("scan.sh")


def is_clean(path):
    done = subprocess.run(["sh", str(SCRIPT), path], stdout=subprocess.DEVNULL)
    return done.returncode == 0
