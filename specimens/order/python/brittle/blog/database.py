class NotConnected(Exception):
    pass


class Database:
    def __init__(self):
        self.posts = {1: "Hello"}


_current = None


def connect():
    global _current
    _current = Database()
    return _current


def current():
    if _current is None:
        raise NotConnected("connect first")
    return _current
