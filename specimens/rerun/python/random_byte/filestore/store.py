"""Files in memory, with a log of who touched which."""


class FileStore:
    def __init__(self):
        self._files = {}
        self.audit = []

    def create(self, user, path, content):
        self._files[path] = bytes(content)
        self.audit.append((user, "create", path))

    def open(self, user, path):
        if path not in self._files:
            self.audit.append((user, "denied", path))
            raise FileNotFoundError(path)
        self.audit.append((user, "open", path))
        return Reader(self._files[path])


class Reader:
    def __init__(self, content):
        self._content = content
        self._at = 0

    def read(self):
        """The next byte as a number from 0 to 255, or -1 at the end."""
        if self._at == len(self._content):
            return -1
        self._at += 1
        return self._content[self._at - 1]
