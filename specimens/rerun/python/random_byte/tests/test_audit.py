import pytest
from filler import random_content


def test_read_is_audited(store):
    store.create("ana", "/foo/bar", random_content(64))

    assert store.open("ana", "/foo/bar").read() > 0, "nothing to read"

    assert store.audit == [("ana", "create", "/foo/bar"), ("ana", "open", "/foo/bar")]


def test_missing_file_is_audited(store):
    with pytest.raises(FileNotFoundError):
        store.open("ben", "/foo/missing")

    assert store.audit == [("ben", "denied", "/foo/missing")]


def test_content_comes_back_unchanged(store):
    content = random_content(16)
    store.create("ana", "/foo/bar", content)
    reader = store.open("ana", "/foo/bar")

    assert bytes(reader.read() for _ in content) == content


def test_end_of_file(store):
    store.create("ana", "/empty", b"")

    assert store.open("ana", "/empty").read() == -1


def test_files_are_apart(store):
    store.create("ana", "/a", b"a")
    store.create("ana", "/b", b"b")

    assert store.open("ben", "/b").read() == ord("b")
