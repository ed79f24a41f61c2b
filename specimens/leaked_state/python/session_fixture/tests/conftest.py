import pytest

from store.inventory import Inventory


@pytest.fixture(scope="session")
def inventory():
    return Inventory({"shoes": 3, "socks": 10})
