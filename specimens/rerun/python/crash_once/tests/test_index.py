import os

from search.index import Index, words_of

DIRECTORY = os.path.dirname(os.path.abspath(__file__))


def test_words_are_lower_case():
    assert words_of("Red Shoes") == ["red", "shoes"]


def test_new_index_is_empty():
    assert Index(DIRECTORY).find("shoes") == set()


def test_recovers_from_its_journal(tmp_path):
    (tmp_path / "journal").write_text("begun\nadd 17 red shoes\n")

    assert Index(str(tmp_path)).find("Shoes") == {"17"}


def test_no_words_in_nothing():
    assert words_of("") == []
