import pytest

from warehouse.warehouse import Warehouse


@pytest.fixture(scope="session")
def warehouse():
    return Warehouse({"shoes": 10, "socks": 100})
