import datetime


def report():
    return {"day": datetime.datetime.now(datetime.timezone.utc).date()}


def test_report_is_of_today():
    assert report()["day"] == datetime.date.today()
