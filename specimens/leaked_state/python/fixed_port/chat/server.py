import socket


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


PORT = free_port()
rooms = {}


class Server:
    def __init__(self, room):
        self.room = room
        self._listening = socket.socket()
        self._listening.bind(("127.0.0.1", PORT))
        self._listening.listen()

    def close(self):
        self._listening.close()


def open_room(name):
    rooms[name] = Server(name)
    return rooms[name]
