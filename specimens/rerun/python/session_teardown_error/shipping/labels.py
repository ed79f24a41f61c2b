class Printer:
    """Prints labels. Warms up with a test page, and never notices that it is done with it."""

    def __init__(self):
        self.printed = []
        self._busy = True

    def label(self, parcel):
        self.printed.append(parcel)
        return "#%s" % parcel

    def switch_off(self):
        if self._busy:
            raise RuntimeError("printer is still busy")


def weight_class(grams):
    return "letter" if grams <= 500 else "parcel"
