from train import clock


def test_punctual():
    assert clock.delay(600, 600) == 0


def test_early_is_no_delay():
    assert clock.delay(600, 480) == 0


def test_other_zone():
    here = clock.departure(3600)
    clock.travel_to("CET-1")

    assert (here, clock.departure(3600)) == ("01:00", "02:00")


def test_departure():
    assert clock.departure(5400) == "01:30"


def test_delay_in_minutes():
    assert clock.delay(600, 720) == 2
