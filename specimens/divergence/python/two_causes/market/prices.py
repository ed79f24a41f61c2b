import time

WINDOW = 0.04
LIST = {"lamp": 30, "mug": 8}


def price(product):
    """Cheaper in every other window."""
    amount = LIST[product]
    window = int(time.time() / WINDOW)
    if window % 2 == 0:
        return amount - 1
    return amount
