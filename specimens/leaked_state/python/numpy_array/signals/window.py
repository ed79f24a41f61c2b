import numpy as np

TRIANGLE = np.array([1.0, 2.0, 3.0, 2.0, 1.0])


def normalised(weights):
    weights /= weights.sum()
    return weights


def smooth(values, weights):
    return np.convolve(values, weights, mode="valid")
