from store.inventory import Inventory


def test_empty_inventory():
    assert Inventory({}).pieces() == 0


def test_article_is_removed(inventory):
    assert inventory.remove("shoes") == 3


def test_articles_are_sorted():
    assert Inventory({"b": 1, "a": 1}).articles() == ["a", "b"]


def test_pieces(inventory):
    assert inventory.pieces() == 13


def test_socks_are_there(inventory):
    assert "socks" in inventory.articles()
