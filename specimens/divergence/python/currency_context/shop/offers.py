from shop import currency, stock


def offer(item, price):
    try:
        with currency.using("EUR"):
            stock.check(item)
            return "%s for %d %s" % (item, price, currency.current)
    except stock.SoldOut:
        return None


def receipt(amount):
    return "%d %s" % (amount, currency.current)
