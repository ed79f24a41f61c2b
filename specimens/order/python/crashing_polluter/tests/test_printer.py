from spool import printer


def test_one_page():
    assert printer.pages(60) == 1


def test_reset():
    printer.reset()


def test_two_pages():
    assert printer.pages(61) == 2


def test_printer_is_free():
    assert printer.is_free()


def test_no_pages():
    assert printer.pages(0) == 0
