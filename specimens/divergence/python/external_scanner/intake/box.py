import time

from intake.scanner import is_clean


class Box:
    def __init__(self):
        self.files = []
        self.refused = []
        self.log = []

    def take(self, path):
        self.log.append((time.time(), path))
        if not is_clean(path):
            self.refused.append(path)
            return
        self.files.append(path)
