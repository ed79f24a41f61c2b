import pytest

from notes.journal import Journal


@pytest.fixture
def journal():
    journal = Journal()
    yield journal
    unsaved = journal.unsaved()
    journal.close()
    assert unsaved == 0
