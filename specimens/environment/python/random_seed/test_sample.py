import random


def sample():
    return random.sample(range(100), 3)


def test_sample_has_a_small_one():
    assert min(sample()) < 20
