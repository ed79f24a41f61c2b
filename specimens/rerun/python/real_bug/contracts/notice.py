"""When a contract ends that is given notice of."""
from datetime import timedelta


def last_day(given_on, days):
    """The last day of the contract. The notice period starts on the day after the notice was given."""
    return given_on + timedelta(days=days - 1)


def is_in_time(given_on, days, wanted_end):
    return last_day(given_on, days) <= wanted_end


def remind_on(wanted_end, days, margin=14):
    return wanted_end - timedelta(days=days + margin)
