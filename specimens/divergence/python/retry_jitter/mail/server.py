import random


class Server:
    """Refuses every message once, as servers do against spam."""

    def __init__(self):
        self.busy = 0
        self.accepted = {}
        self._refused = set()

    def connect(self):
        # A line is free sooner or later.
        while random.random() < 0.4:
            self.busy += 1
        return self

    def offer(self, number, text):
        if text not in self._refused:
            self._refused.add(text)
            return False
        self.accepted[number] = text
        return True
