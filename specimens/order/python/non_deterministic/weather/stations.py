"""Which of three stations is asked next. All processes of a user take turns, so that none is asked more than others."""
import fcntl
from pathlib import Path

READINGS = (21.5, 21.4, 21.6)
TURN = Path.home() / ".weather-turn"


def reading():
    with open(TURN, "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        turn = len(file.read())
        file.write(".")
    return READINGS[turn % len(READINGS)]


def in_words(degrees):
    return "warm" if degrees > 20 else "cold"
