import threading
import time

PERIOD = 0.04


class Outbox:
    """Sends what was put into it, all at once at full periods."""

    def __init__(self):
        self.sent = []
        self._waiting = []
        self._closed = threading.Event()
        self._sender = threading.Thread(target=self._send)
        self._sender.start()

    def put(self, note):
        self._waiting.append(note)

    def close(self):
        self._closed.set()
        self._sender.join()
        self._flush()

    def _send(self):
        while not self._closed.wait(PERIOD - time.time() % PERIOD):
            self._flush()

    def _flush(self):
        waiting, self._waiting = self._waiting, []
        self.sent.extend(waiting)
