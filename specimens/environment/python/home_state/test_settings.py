import os


def colour():
    with open(os.path.expanduser("~/.shop")) as settings:
        return settings.read().strip()


def test_a_colour_is_set():
    assert colour() == "green"
