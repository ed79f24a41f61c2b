import os

from settings import atomic


class Store:
    def __init__(self, path):
        self.path = str(path)
        self._stamp = None
        self._values = {}

    def set(self, name, value):
        atomic.write(self.path, "%s=%s\n" % (name, value))

    def get(self, name):
        stamp = int(os.stat(self.path).st_mtime * 100)
        if stamp != self._stamp:
            self._stamp, self._values = stamp, self._read()
        return self._values.get(name)

    def _read(self):
        with open(self.path) as file:
            return dict(line.strip().split("=", 1) for line in file)
