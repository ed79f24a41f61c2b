import pytest

from shipping.labels import Printer


@pytest.fixture(scope="session")
def printer():
    printer = Printer()
    yield printer
    printer.switch_off()
