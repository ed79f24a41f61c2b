from notes.search import find


def test_entries_are_found(journal):
    journal.entries.append("rain today")
    journal.entries.append("sun today")

    assert find(journal.entries, "sun") == ["sun today"]


def test_nothing_is_found_in_nothing(journal):
    assert find(journal.entries, "sun") == []
