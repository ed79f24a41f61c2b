FREE_FROM = 50


def fee(basket):
    if basket.total() >= FREE_FROM:
        return 0
    return 5
