import os
import signal
from pathlib import Path

LOCK = Path(__file__).parent.parent / "printer.lock"


def reset():
    """Stands on a driver that takes the process down with it."""
    LOCK.write_text(str(os.getpid()))
    os.kill(os.getpid(), signal.SIGABRT)
    LOCK.unlink()


def is_free():
    return not LOCK.exists()


def pages(lines):
    return -(-lines // 60)
