import random


class Cache:
    def __init__(self, size):
        self.size = size
        self.listeners = []
        self._entries = {}

    def get(self, key, load):
        if key not in self._entries:
            self._put(key, load(key))
        return self._entries[key]

    def _put(self, key, value):
        if len(self._entries) == self.size:
            victim = random.choice(sorted(self._entries))
            del self._entries[victim]
            for listener in self.listeners:
                listener(victim)
        self._entries[key] = value
