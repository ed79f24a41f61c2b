from shop.chance import draw


class Window:
    def __init__(self):
        self.title = "Your order"
        self.width = draw("width")
        self.height = draw("height")


class Cart:
    def __init__(self, prices):
        self.prices = prices

    @property
    def badge(self):
        return draw("badge")

    def total(self):
        return sum(self.prices)

    def discount(self, share):
        return [price * (100 - share) // 100 for price in self.prices]


class Tip:
    def __init__(self):
        self.y = draw("y")
        self.visible = draw("tip")
        self.text = "Free delivery"
