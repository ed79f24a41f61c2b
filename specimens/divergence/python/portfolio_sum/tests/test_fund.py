from fund.holdings import Fund
from fund.report import verdict


def test_shares_are_complete():
    assert verdict(Fund(gold=0.1, wheat=0.7, tin=0.2)) == "complete"


def test_half_a_fund_is_not():
    assert verdict(Fund(gold=0.5)) == "incomplete: 0.5"
