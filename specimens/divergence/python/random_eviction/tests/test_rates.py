import pytest

from cache.store import Cache
from cache.warm import warm_up


@pytest.fixture
def loads():
    return []


def test_rate_is_loaded_once(loads):
    def load(name):
        loads.append(name)
        return len(name)

    cache = Cache(3)
    evicted = []
    cache.listeners.append(evicted.append)
    for name in warm_up(["eur", "gbp", "usd"], []):
        cache.get(name, load)
    cache.get("yen", load)
    cache.get("usd", load)

    assert loads.count("usd") == 1


def test_listeners_are_told(loads):
    cache = Cache(1)
    cache.listeners.append(loads.append)
    cache.get("eur", len)
    cache.get("usd", len)

    assert loads == ["eur"]
