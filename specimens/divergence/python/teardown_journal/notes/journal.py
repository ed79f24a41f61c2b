import threading
import time

PERIOD = 0.04


class Journal:
    def __init__(self):
        self.entries = []
        self.saved = 0
        self._closed = threading.Event()
        self._saver = threading.Thread(target=self._save)
        self._saver.start()

    def _save(self):
        while not self._closed.wait(PERIOD - time.time() % PERIOD):
            self.saved = len(self.entries)

    def unsaved(self):
        return len(self.entries) - self.saved

    def close(self):
        self._closed.set()
        self._saver.join()
