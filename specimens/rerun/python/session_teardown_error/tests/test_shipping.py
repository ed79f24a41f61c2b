from shipping.labels import weight_class


def test_light_is_a_letter():
    assert weight_class(500) == "letter"


def test_label_has_the_number(printer):
    assert printer.label("4711") == "#4711"


def test_heavy_is_a_parcel():
    assert weight_class(501) == "parcel"


def test_parcel_has_a_label(printer):
    printer.label("4712")

    assert "4712" in printer.printed
