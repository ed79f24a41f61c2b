class Money:
    currency = "EUR"

    def __init__(self, cents):
        self.cents = cents

    def __str__(self):
        return "%d.%02d %s" % (self.cents // 100, self.cents % 100, self.currency)


def in_small_coins(money):
    """Where the smallest coin is five cents."""
    return Money(5 * round(money.cents / 5))
