import warnings

from maps import old


def warned(function, *arguments):
    with warnings.catch_warnings(record=True) as seen:
        function(*arguments)
    return [str(warning.message) for warning in seen]


def test_distance():
    assert old.distance((0, 0), (3, 4)) == 7


def test_programs_can_ask_for_quiet():
    loud = warned(old.distance, (0, 0), (1, 1))
    old.quiet()

    assert (len(loud), warned(old.distance, (0, 0), (1, 1))) == (1, [])


def test_distance_to_itself():
    assert old.distance((2, 2), (2, 2)) == 0


def test_old_name_warns():
    assert warned(old.distance, (0, 0), (1, 1)) == ["use maps.route instead"]


def test_distance_is_the_same_both_ways():
    assert old.distance((1, 5), (2, 2)) == old.distance((2, 2), (1, 5))
