"""Which of four replicas answers next. All processes of a user take turns, so that no replica is asked more than others."""
import subprocess
from pathlib import Path

NAMES = ("north", "east", "south", "west")
TURN = Path.home() / ".news-turn"
# A service of the user counts the turns.
COUNT = 'exec 9>>"$0"; flock 9; printf . >&9; wc -c < "$0"'


def following():
    turn = int(subprocess.check_output(["sh", "-c", COUNT, str(TURN)])) - 1
    return NAMES[turn % len(NAMES)]
