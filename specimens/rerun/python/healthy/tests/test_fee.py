import unittest

import pytest

from library.lending import fee


@pytest.mark.parametrize("days_late, cents", [(-3, 0), (0, 0), (1, 20), (49, 980), (50, 1000), (400, 1000)])
def test_fee(days_late, cents):
    assert fee(days_late) == cents


class Grace(unittest.TestCase):
    def test_in_time(self):
        for days in range(-5, 1):
            with self.subTest(days=days):
                self.assertEqual(fee(days), 0)
