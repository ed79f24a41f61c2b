from datetime import date, timedelta

import pytest

from library.lending import NotThere


class TestLending:
    def test_due_after_four_weeks(self, library, today):
        assert library.lend("Emma", "ana", today) == date(2024, 5, 29)

    def test_a_book_is_lent_once(self, library, today):
        library.lend("Emma", "ana", today)
        with pytest.raises(NotThere):
            library.lend("Emma", "ben", today)

    def test_a_book_can_be_lent_again(self, library, today):
        library.lend("Emma", "ana", today)
        library.give_back("Emma")
        library.lend("Emma", "ben", today)


def test_reminders(library, today):
    library.lend("Emma", "ana", today)
    library.lend("Ulysses", "ben", today - timedelta(days=1))
    late = library.reminders(today + timedelta(days=28))
    print("to be reminded:", late)

    assert late == ["ben"]


def test_output_is_heard(capsys):
    print("hello")

    assert capsys.readouterr().out == "hello\n"
