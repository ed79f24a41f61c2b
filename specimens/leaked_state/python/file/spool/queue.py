"""Jobs that wait to be printed, a file each."""
from pathlib import Path

WAITING = Path(__file__).parent / "waiting"


def add(name, text):
    with open(WAITING / (name + ".job"), "x") as file:
        file.write(text)


def waiting():
    return sorted(path.stem for path in WAITING.glob("*.job"))


def pages(text):
    return -(-len(text.splitlines()) // 60)
