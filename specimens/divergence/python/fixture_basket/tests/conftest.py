import random

import pytest

from shop.basket import Basket

PRICES = {"lamp": 40, "mug": 8, "pen": 2, "rug": 12}


@pytest.fixture
def basket():
    basket = Basket()
    names = random.sample(sorted(PRICES), 3)
    for name in names:
        basket.add(name, PRICES[name])
    return basket
