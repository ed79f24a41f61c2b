class Ledger:
    def __init__(self):
        self.entries = []
        self._open = 0

    def begin(self):
        self._open += 1
        return Transaction(self)

    def close(self):
        if self._open:
            raise RuntimeError("%d transaction left open" % self._open)


class Transaction:
    def __init__(self, ledger):
        self._ledger = ledger
        self._entries = []

    def book(self, account, cents):
        self._entries.append((account, cents))

    def commit(self):
        self._ledger.entries.extend(self._entries)
        self._ledger._open -= 1

    def cancel(self):
        self._entries = []
