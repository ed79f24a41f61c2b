import random


def warm_up(names, log):
    """Asks for names in any order, so that no replica is always the first to be asked."""
    order = list(names)
    random.shuffle(order)
    for name in order:
        log.append("asked for " + name)
    return sorted(order)
