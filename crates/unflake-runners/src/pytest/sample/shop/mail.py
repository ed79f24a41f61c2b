import random
import time

chance = random.Random()


class GaveUp(Exception):
    pass


class Backoff:
    """How long to wait before the next try: longer each time, and never the same for everybody."""

    def __init__(self, limit):
        self.limit = limit

    def delay(self, attempt):
        base = 0.1 * 2**attempt
        jitter = chance.random()
        delay = base * (1 + jitter)
        if delay > self.limit:
            raise GaveUp("next try only in %.3f s, the limit is %.3f s" % (delay, self.limit))
        return delay


def send(mail, transport, backoff):
    """The number of tries it took."""
    attempt = 0
    while not transport(mail):
        time.sleep(backoff.delay(attempt))
        attempt += 1
    return attempt + 1
