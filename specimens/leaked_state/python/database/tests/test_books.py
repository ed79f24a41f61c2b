from library import books


def test_valid_isbn():
    assert books.is_valid("978-0-306-40615-7")


def test_wrong_digit():
    assert not books.is_valid("978-0-306-40615-8")


def test_book_is_added():
    books.add("9780306406157", "Solid State Physics")

    assert "Solid State Physics" in books.titles()


def test_new_library_has_no_books():
    assert books.titles() == []


def test_short_isbn():
    assert not books.is_valid("978-0-306")
