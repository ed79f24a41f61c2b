from builders import any_customer

from cellar.till import Till


def test_wine_is_sold():
    till = Till()
    till.sell(any_customer(), "riesling")

    assert len(till.sold) == 1


def test_juice_is_sold_to_everybody():
    till = Till()
    till.sell(any_customer(), "juice")

    assert len(till.sold) == 1
