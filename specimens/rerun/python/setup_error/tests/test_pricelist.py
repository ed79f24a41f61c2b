import os

import pytest

from shop import pricelist


@pytest.fixture(scope="module")
def prices():
    return pricelist.load(os.path.join(os.path.dirname(__file__), "data", "prices.csv"))


def test_shoes_have_a_price(prices):
    assert prices["shoes"] == 8990


def test_no_price_is_negative(prices):
    assert all(cents >= 0 for cents in prices.values())


def test_parse():
    assert pricelist.parse(["shoes,8990", "socks,490"]) == {"shoes": 8990, "socks": 490}


def test_empty_list():
    assert pricelist.parse([]) == {}
