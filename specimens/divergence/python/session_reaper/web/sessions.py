import threading
import time

LIFETIME = 0.002
PERIOD = 0.03


class Session:
    def __init__(self, user):
        self.user = user
        self.opened = time.monotonic()
        self.visits = 0


class Sessions:
    """Open sessions, and a thread that removes those that are too old."""

    def __init__(self):
        self.entries = {}
        self._stopped = threading.Event()
        self._reaper = threading.Thread(target=self._reap)
        self._reaper.start()

    def open(self, token, user):
        self.entries[token] = Session(user)

    def close(self):
        self._stopped.set()
        self._reaper.join()

    def _reap(self):
        # At full periods, so that all servers do it at the same time.
        while not self._stopped.wait(PERIOD - time.monotonic() % PERIOD):
            for token, session in list(self.entries.items()):
                if time.monotonic() - session.opened > LIFETIME:
                    del self.entries[token]
