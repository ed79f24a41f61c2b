import time

from market.prices import price
from market.wheel import discount


def show(product):
    shown = price(product)
    time.sleep(0.01)  # The page is drawn.
    return shown


def buy(product):
    return price(product) - discount()
