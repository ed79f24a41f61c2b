import uuid

from cellar.rules import may_buy


class NotSold(Exception):
    pass


class Till:
    def __init__(self):
        self.sold = []

    def sell(self, customer, wine):
        receipt = uuid.uuid4().hex
        if not may_buy(customer, wine):
            raise NotSold(wine)
        self.sold.append((customer.name, wine))
        return receipt
