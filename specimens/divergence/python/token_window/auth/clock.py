import time

WINDOW = 0.04


def current_window():
    return int(time.time() / WINDOW)
