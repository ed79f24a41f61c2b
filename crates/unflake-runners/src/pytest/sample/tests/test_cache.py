from shop import cache


def test_cold():
    asked = []

    def load():
        asked.append("vat")
        return {"standard": 19}

    cache.lookup("vat", load)

    assert asked == ["vat"]


def test_asks_only_once():
    answers = iter(["first", "second"])

    assert cache.lookup("greeting", lambda: next(answers)) == "first"
    assert cache.lookup("greeting", lambda: next(answers)) == "first"
