from decimal import ROUND_DOWN, Decimal

from shop import stock, tax

CENT = Decimal("0.01")


class Cart:
    def __init__(self):
        self.lines = []

    def add(self, article, net):
        stock.reserve(article)
        self.lines.append((article, Decimal(net)))

    def total(self):
        """What the customer pays, tax included."""
        return sum((self._gross(net) for _, net in self.lines), Decimal(0))

    def _gross(self, net):
        return (net * (100 + tax.PER_CENT) / 100).quantize(CENT, ROUND_DOWN)

    def check_out(self):
        """The articles sold."""
        sold = [article for article, _ in self.lines]
        for article in sold:
            stock.sell(article)
        self.lines = []
        return sold
