"""Deliveries that have been accepted and not yet worked off."""
import threading


class Inbox:
    def __init__(self):
        self._lock = threading.Lock()
        self._waiting = []
        self._when_empty = []

    def put(self, delivery):
        with self._lock:
            self._waiting.append(delivery)

    def __len__(self):
        with self._lock:
            return len(self._waiting)

    def work_off(self, handle):
        """Hands every waiting delivery to `handle`, then tells those who wait for an empty inbox."""
        with self._lock:
            deliveries, self._waiting = self._waiting, []
        for delivery in deliveries:
            handle(delivery)
        with self._lock:
            callbacks, self._when_empty = self._when_empty, []
        for callback in callbacks:
            callback()

    def when_empty(self, callback):
        with self._lock:
            if self._waiting:
                self._when_empty.append(callback)
                return
        callback()


inbox = Inbox()
