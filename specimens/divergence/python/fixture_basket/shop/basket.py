import uuid


class Basket:
    def __init__(self):
        self.number = uuid.uuid4()
        self.items = {}

    def add(self, name, price):
        self.items[name] = price

    def total(self):
        return sum(self.items.values())
