import unittest


class ConnectionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.connection = {"open": True, "queries": 0}

    def test_is_unused(self):
        self.assertEqual(self.connection["queries"], 0)

    def test_query(self):
        self.connection["queries"] += 1

    def test_is_open(self):
        self.assertTrue(self.connection["open"])
