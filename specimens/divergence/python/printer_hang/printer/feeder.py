import random


def feed():
    """Takes a sheet from any tray."""
    tray = random.randrange(12)
    if tray == 0:
        raise OSError("the tray is stuck")
    return "jammed" if tray <= 3 else "printed"
