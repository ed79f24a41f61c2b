import pytest

from filestore import FileStore


@pytest.fixture
def store():
    return FileStore()
