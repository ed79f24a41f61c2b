"""Reports, below the build directory."""
from pathlib import Path

DIRECTORY = Path(__file__).parent.parent / "build" / "reports"


def add(line):
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    with open(DIRECTORY / "day.txt", "a") as file:
        file.write(line + "\n")


def lines():
    return (DIRECTORY / "day.txt").read_text().splitlines()
