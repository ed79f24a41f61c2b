class SoldOut(Exception):
    pass


class Warehouse:
    def __init__(self, stock):
        self._stock = dict(stock)

    def count(self, article):
        return self._stock.get(article, 0)

    def sell(self, article):
        if self.count(article) == 0:
            raise SoldOut(article)
        self._stock[article] -= 1
