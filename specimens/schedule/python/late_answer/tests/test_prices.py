import asyncio

from shop.prices import Prices


def ask_twice(prices):
    async def both():
        await asyncio.gather(prices.refresh(10), prices.refresh(11))

    asyncio.run(both())
    return prices.price


def test_the_newer_price_stays():
    assert ask_twice(Prices(drops_older=False)) == 11


def test_the_newer_price_stays_when_older_ones_are_dropped():
    assert ask_twice(Prices(drops_older=True)) == 11
