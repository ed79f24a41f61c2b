import random

PRIZES = 250


class Drum:
    def __init__(self):
        self.sold = []

    def draw(self):
        number = random.randrange(PRIZES)
        self.sold.append(number)
        return number

    def is_blank(self, number):
        return number != 0
