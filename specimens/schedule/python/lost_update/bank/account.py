class Account:
    def __init__(self, lock):
        self.balance, self._lock = 0, lock

    def deposit(self, amount):
        with self._lock:
            balance = self.balance + amount
            self.balance = balance
