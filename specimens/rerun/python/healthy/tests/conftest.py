from datetime import date

import pytest

from library.lending import Library


@pytest.fixture(scope="session")
def today():
    return date(2024, 5, 1)


@pytest.fixture
def library():
    return Library(["Emma", "Ulysses"])
