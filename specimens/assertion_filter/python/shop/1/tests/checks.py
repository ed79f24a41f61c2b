def check_prices(prices, expected):
    for price, wanted in zip(prices, expected):
        assert price == wanted
