import os


def region():
    return os.environ["SHOP_REGION"]


def test_there_is_a_region():
    assert region()
