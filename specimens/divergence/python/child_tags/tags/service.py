import subprocess
import sys

from tags import extract


def tags(text):
    """In a process of its own, because texts come from anywhere."""
    command = [sys.executable, extract.__file__]
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, universal_newlines=True, check=True)
    return done.stdout.split()


def main_tag(text):
    found = tags(text)
    return found[0] if found else None
