import random


class Connection:
    def __init__(self):
        self.pending = []

    def commit(self, balances):
        for name, balance in self.pending:
            balances[name] = balance
        self.pending = []


class Pool:
    def __init__(self, size, balances):
        self.balances = balances
        self._connections = [Connection() for _ in range(size)]

    def connection(self):
        """Any of them, so that all are used alike."""
        return random.choice(self._connections)
