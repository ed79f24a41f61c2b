import datetime
import os
import random
import tempfile
import threading


def total(prices):
    return sum(prices)


def test_prices_add_up():
    prices = [random.randrange(1, 100) for _ in range(20)]
    assert total(prices) == total(reversed(prices))
    assert datetime.datetime.now() > datetime.datetime(1990, 1, 1)
    done = threading.Event()
    threading.Thread(target=done.set).start()
    assert done.wait(60)
    with tempfile.TemporaryDirectory() as place:
        assert os.listdir(place) == []
