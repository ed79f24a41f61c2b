from units import style
from units.length import metres

style.decimal_mark = ","


def test_comma():
    assert metres(1.5) == "1,50 m"


def test_large():
    assert metres(1000) == "1000,00 m"
