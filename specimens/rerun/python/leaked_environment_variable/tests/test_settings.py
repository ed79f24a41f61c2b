import os
import unittest

from mailer import settings


class Defaults(unittest.TestCase):
    def test_sender(self):
        self.assertEqual(settings.sender(), "shop@example.org")

    def test_mails_go_out(self):
        transport = []
        self.assertTrue(settings.deliver("hello", transport))
        self.assertEqual(transport, [("shop@example.org", "hello")])


class Sender(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ["MAILER_SENDER"] = "news@example.org"

    @classmethod
    def tearDownClass(cls):
        del os.environ["MAILER_SENDER"]

    def test_sender_can_be_chosen(self):
        self.assertEqual(settings.sender(), "news@example.org")

    def test_sender_is_no_address_of_the_shop(self):
        self.assertNotIn("shop", settings.sender())
