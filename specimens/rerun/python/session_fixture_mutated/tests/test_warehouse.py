def test_opening_stock(warehouse):
    assert warehouse.count("shoes") == 10


def test_plenty_of_socks(warehouse):
    assert warehouse.count("socks") == 100


def test_no_hats(warehouse):
    assert warehouse.count("hats") == 0
