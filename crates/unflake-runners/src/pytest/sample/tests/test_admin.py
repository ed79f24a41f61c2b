from shop import admin, cache


def test_warmup():
    admin.warm_up()

    assert cache.lookup("vat", None)["books"] == 7
