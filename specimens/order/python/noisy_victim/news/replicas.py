"""Which of four replicas answers next. All processes of a user take turns, so that no replica is asked more than others."""
import fcntl
from pathlib import Path

NAMES = ("north", "east", "south", "west")
TURN = Path.home() / ".news-turn"


def following():
    with open(TURN, "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        turn = len(file.read())
        file.write(".")
    return NAMES[turn % len(NAMES)]
