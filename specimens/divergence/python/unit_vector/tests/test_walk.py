import numpy as np

from geometry.walk import Walk


def test_a_step_has_length_one():
    walk = Walk()
    walk.step()

    assert np.linalg.norm(walk.where()) == 1.0


def test_walk_begins_at_the_origin():
    assert not Walk().where().any()
