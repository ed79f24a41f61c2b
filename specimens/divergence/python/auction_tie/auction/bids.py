import time


class Bids:
    def __init__(self):
        self._bids = []
        self._times = []

    def offer(self, name, amount):
        self._bids.append((name, amount))
        self._times.append(time.time())

    def best_bidders(self):
        highest = max(amount for name, amount in self._bids)
        return {name for name, amount in self._bids if amount == highest}
