import locale


def label(price):
    locale.setlocale(locale.LC_ALL, "")
    return ("%d €" % price).encode(locale.nl_langinfo(locale.CODESET))


def test_the_price_can_be_printed():
    assert label(5)
