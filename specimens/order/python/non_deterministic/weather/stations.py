"""Which of three stations is asked next. All processes of a user take turns, so that none is asked more than others."""
import subprocess
from pathlib import Path

READINGS = (21.5, 21.4, 21.6)
TURN = Path.home() / ".weather-turn"
# A service of the user counts the turns.
COUNT = 'exec 9>>"$0"; flock 9; printf . >&9; wc -c < "$0"'


def reading():
    turn = int(subprocess.check_output(["sh", "-c", COUNT, str(TURN)])) - 1
    return READINGS[turn % len(READINGS)]


def in_words(degrees):
    return "warm" if degrees > 20 else "cold"
