NAMES = ["ada", "grace"]


def queue_of(name):
    return hash(name) % 2


def test_both_queues_are_used():
    assert {queue_of(name) for name in NAMES} == {0, 1}
