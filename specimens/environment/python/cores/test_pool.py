import os


def workers():
    return len(os.sched_getaffinity(0)) - 1


def test_somebody_works():
    assert workers() > 0
