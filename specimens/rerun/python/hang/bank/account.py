import threading


class Account:
    def __init__(self, balance=0):
        self.balance = balance
        self.lock = threading.Lock()


def transfer(source, target, amount):
    with source.lock, target.lock:
        if source.balance < amount:
            raise ValueError("not enough money")
        source.balance -= amount
        target.balance += amount
