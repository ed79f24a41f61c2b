"""Mails that wait in a directory. Whoever writes there holds the lock file."""
import os
import threading


class Spool:
    def __init__(self, directory):
        self._directory = directory
        self.released = threading.Event()

    def add(self, mail):
        self._take_lock()
        try:
            with open(self._path("mails"), "a") as mails:
                mails.write(mail + "\n")
        finally:
            self._drop_lock()

    def mails(self):
        try:
            with open(self._path("mails")) as mails:
                return mails.read().splitlines()
        except FileNotFoundError:
            return []

    def _take_lock(self):
        if os.path.exists(self._path("lock")):
            if os.path.exists(self._path("waiting")):
                # Somebody has waited here before and the lock is still there: its holder is gone.
                os.remove(self._path("waiting"))
            else:
                open(self._path("waiting"), "w").close()
                self.released.wait()
        open(self._path("lock"), "w").close()

    def _drop_lock(self):
        os.remove(self._path("lock"))
        self.released.set()

    def _path(self, name):
        return os.path.join(self._directory, name)
