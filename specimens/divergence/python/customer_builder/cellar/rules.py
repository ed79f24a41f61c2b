ADULT = 18


class Customer:
    def __init__(self, name, age):
        self.name = name
        self.age = age


def may_buy(customer, product):
    if product == "juice":
        return True
    return customer.age >= ADULT
