import random


class Link:
    """A line that is often cut."""

    def __init__(self):
        self.carried = []

    def is_cut(self):
        return random.random() < 0.6

    def carry(self, name):
        self.carried.append(name)
