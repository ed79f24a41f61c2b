from printer.worker import Printer


def test_page_is_printed():
    printer = Printer()
    printer.submit("title")
    printer.wait()

    assert printer.results == {"title": "printed"}


def test_nothing_to_wait_for():
    Printer().wait()
