import datetime


def promised(now):
    return now + datetime.timedelta(hours=1)


def test_the_clock_says_what_was_promised():
    due = promised(datetime.datetime.now())
    on_the_wall = datetime.datetime.fromtimestamp(due.timestamp())
    assert on_the_wall == due
