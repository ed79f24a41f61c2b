from datetime import date

from contracts.notice import is_in_time, last_day, remind_on


def test_notice_is_in_time():
    assert is_in_time(date(2024, 1, 1), 30, date(2024, 3, 31))


def test_notice_is_too_late():
    assert not is_in_time(date(2024, 3, 30), 30, date(2024, 3, 31))


def test_notice_counts_from_the_day_after():
    assert last_day(date(2024, 3, 1), 30) == date(2024, 3, 31)


def test_reminder_leaves_a_margin():
    assert remind_on(date(2024, 3, 31), 30) == date(2024, 2, 16)


def test_margin_can_be_chosen():
    assert remind_on(date(2024, 3, 31), 30, margin=0) == date(2024, 3, 1)
