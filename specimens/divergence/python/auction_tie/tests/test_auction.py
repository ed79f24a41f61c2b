import unittest

from auction.house import House


class Ties(unittest.TestCase):
    def setUp(self):
        self.house = House()

    def test_first_of_equal_bids_wins(self):
        self.house.bids.offer("ada", 100)
        self.house.bids.offer("ben", 100)
        self.house.close()

        self.assertEqual(self.house.letters, ["ada has won"])

    def test_highest_bid_wins(self):
        self.house.bids.offer("ada", 100)
        self.house.bids.offer("ben", 200)

        self.assertEqual(self.house.close(), "ben")
