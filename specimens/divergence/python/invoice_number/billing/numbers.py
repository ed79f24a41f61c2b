import time


def next_number(prefix):
    """Numbers that ascend without anybody counting."""
    tick = int(time.time() * 50)
    return "%s-%d" % (prefix, tick)
