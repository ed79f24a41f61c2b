import unittest

from bank.accounts import Account


class Paying(unittest.TestCase):
    def setUp(self):
        self.account = Account("Ada")

    def test_cents_are_added(self):
        self.account.pay_in(5)
        self.account.pay_in(7)
        self.assertEqual(self.account.cents, 12)

    def test_nothing_is_refused(self):
        with self.assertRaises(ValueError):
            self.account.pay_in(0)


class Opening(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.account = Account("Grace")

    def test_new_account_is_counted(self):
        Account.open("Ada")
        self.assertEqual(Account.number(), 1)

    def test_new_account_is_empty(self):
        self.assertEqual(self.account.cents, 0)

    def test_nobody_has_an_account(self):
        self.assertEqual(Account.number(), 0)
