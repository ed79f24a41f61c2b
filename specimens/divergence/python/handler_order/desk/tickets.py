import time

from desk.handlers import handler_for


class Ticket:
    def __init__(self, text):
        self.opened = time.time()
        self.text = text.lower()
        self.handler = handler_for(self.text)
