from billing.numbers import next_number
from billing.printer import render


class DuplicateNumber(Exception):
    pass


class Ledger:
    def __init__(self):
        self._entries = {}

    def __len__(self):
        return len(self._entries)

    def bill(self, customer, amount):
        number = next_number("R")
        text = render(customer, amount)
        if number in self._entries:
            raise DuplicateNumber(number)
        self._entries[number] = text
        return number
