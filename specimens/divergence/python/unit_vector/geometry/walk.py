import numpy as np

from geometry import direction


class Walk:
    def __init__(self):
        self._steps = [np.zeros(3)]

    def step(self):
        self._steps.append(direction.anywhere())

    def where(self):
        return np.sum(self._steps, axis=0)
