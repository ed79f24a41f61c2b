import socket

_port = None


def port():
    """That of this process, chosen when it is first asked for."""
    global _port
    if _port is None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            _port = probe.getsockname()[1]
    return _port


class Server:
    def __init__(self, room):
        self.room = room
        self._listening = socket.socket()
        self._listening.bind(("127.0.0.1", port()))
        self._listening.listen()

    def close(self):
        self._listening.close()


rooms = {}


def open_room(name):
    rooms[name] = Server(name)
    return rooms[name]
