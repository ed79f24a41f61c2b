"""A server that says a great deal about itself, none of which matters."""

import os
import socket
import tempfile
import time
import uuid


class Server:
    def __init__(self):
        self.name = str(uuid.uuid4())
        self.place = tempfile.mkdtemp()
        self.began = time.time()
        self.pid = os.getpid()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def describe(self):
        return "%s (pid %d) on 127.0.0.1:%d in %s since %s" % (
            self.name,
            self.pid,
            self.port,
            self.place,
            time.strftime("%Y-%m-%d %H:%M:%S.", time.gmtime(self.began)) + str(time.time_ns())[-9:],
        )
