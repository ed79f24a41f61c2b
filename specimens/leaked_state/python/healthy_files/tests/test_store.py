import os
import unittest

from tiles.store import tile


def test_sea():
    assert tile(1, 2)["sea"]


def test_land():
    assert not tile(1, 1)["sea"]


def test_place():
    assert (tile(4, 5)["x"], tile(4, 5)["y"]) == (4, 5)


def test_same_tile_twice():
    assert tile(1, 2) == tile(1, 2)


class Elsewhere(unittest.TestCase):
    def setUp(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir("/")

    def test_tile(self):
        self.assertFalse(tile(2, 2)["sea"])
