from units.length import metres


def test_point():
    assert metres(1.5) == "1.50 m"


def test_unit():
    assert metres(2).endswith(" m")
