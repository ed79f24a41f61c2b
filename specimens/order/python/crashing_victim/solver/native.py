import os
import signal

checks = True


def trust_the_caller():
    """For callers who know what they do: nothing is checked any more."""
    global checks
    checks = False


def invert(number):
    """Stands on a library that takes the process down with it."""
    if number == 0:
        if checks:
            raise ZeroDivisionError("0 has no inverse")
        os.kill(os.getpid(), signal.SIGABRT)
    return 1 / number
