import socket


class Node:
    def __init__(self, name):
        self.name = name
        self.role = None
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self._socket.listen(5)
        self.address = self._socket.getsockname()

    def write(self, journal, entry):
        if self.role == "leader":
            journal.append((self.name, entry))

    def close(self):
        self._socket.close()
