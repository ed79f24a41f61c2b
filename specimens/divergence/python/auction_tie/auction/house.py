from auction.bids import Bids


class House:
    def __init__(self):
        self.bids = Bids()
        self.letters = []

    def close(self):
        winner = next(iter(self.bids.best_bidders()))
        self.letters.append("%s has won" % winner)
        return winner
