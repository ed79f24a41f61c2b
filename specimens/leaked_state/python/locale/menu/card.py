import locale


def plain():
    """Names are sorted and shown as by the oldest printers."""
    locale.setlocale(locale.LC_CTYPE, "C")


def printable(dish):
    """The dish in the encoding of the printer."""
    return dish.encode(locale.nl_langinfo(locale.CODESET))


def price(cents):
    return f"{cents // 100}.{cents % 100:02}"
