import numpy as np


def anywhere():
    """A direction in space, all alike likely."""
    vector = np.random.default_rng().normal(size=3)
    return vector / np.linalg.norm(vector)
