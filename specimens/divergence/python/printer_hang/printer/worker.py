import queue
import threading
import time

from printer.feeder import feed


class Printer:
    def __init__(self):
        self.results = {}
        self.log = []
        self._pages = queue.Queue()
        threading.Thread(target=self._work, daemon=True).start()

    def submit(self, page):
        self.log.append((time.time(), page))
        self._pages.put(page)

    def wait(self):
        self._pages.join()

    def _work(self):
        while True:
            page = self._pages.get()
            result = feed()
            self.results[page] = result
            self._pages.task_done()
