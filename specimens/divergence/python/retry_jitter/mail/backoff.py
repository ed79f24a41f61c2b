import random

BASE = 0.1


def delay_before(attempt):
    """Doubles with every attempt, with a random part so that not all come back at the same moment."""
    base = BASE * 2 ** attempt
    jitter = random.random()
    return base * (1 + jitter)
