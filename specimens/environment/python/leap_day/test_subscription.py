import datetime


def end_of(start):
    return start.replace(year=start.year + 1)


def test_it_lasts_a_year():
    start = datetime.date.today()
    assert (end_of(start) - start).days in (365, 366)
