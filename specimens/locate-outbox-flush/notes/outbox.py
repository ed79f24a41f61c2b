import threading
import time

PERIOD = 0.04


class Outbox:
    """Sends what was put into it, all at once at full periods."""

    def __init__(self):
        self.sent = []
        self._waiting = []
        self._open = True
        self._sender = threading.Thread(target=self._send)
        self._sender.start()

    def put(self, note):
        self._waiting.append(note)

    def close(self):
        self._open = False
        self._sender.join()

    def _send(self):
        while self._open:
            time.sleep(PERIOD - time.time() % PERIOD)
            waiting, self._waiting = self._waiting, []
            self.sent.extend(waiting)
