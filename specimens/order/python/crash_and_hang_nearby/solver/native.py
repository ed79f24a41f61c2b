import os
import signal


def factor(matrix):
    """Stands on a library that takes the process down with it."""
    if not matrix:
        os.kill(os.getpid(), signal.SIGABRT)
    return [row[:] for row in matrix]
