class Refused(Exception):
    pass


class Client:
    retries = 3

    def __init__(self, send):
        self._send = send

    def fetch(self, path):
        for left in range(self.retries, -1, -1):
            try:
                return self._send(path)
            except Refused:
                if not left:
                    raise
