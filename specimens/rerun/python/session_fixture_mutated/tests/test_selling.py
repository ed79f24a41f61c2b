import pytest

from warehouse.warehouse import SoldOut


def test_selling_takes_one(warehouse):
    before = warehouse.count("shoes")
    warehouse.sell("shoes")

    assert warehouse.count("shoes") == before - 1


def test_what_is_not_there_cannot_be_sold(warehouse):
    with pytest.raises(SoldOut):
        warehouse.sell("hats")
