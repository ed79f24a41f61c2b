import time


def render(name):
    # Written to disk, and read back.
    time.sleep(0.002)
    return name.replace(".jpg", "-small.jpg")
