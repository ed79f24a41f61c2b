"""Two people at a help desk. Whoever is free takes the next call."""

import random


class Desk:
    def __init__(self):
        self.free = ["ann", "bob"]

    def answer(self, question):
        name = self.free.pop(random.randrange(len(self.free)))
        if name == "ann":
            greeting = "Hello"
            reply = "%s, %s" % (greeting, question)
        else:
            greeting = "Good day"
            reply = "%s. %s" % (greeting, question)
        return reply
