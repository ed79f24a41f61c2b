import os
import unittest

from mailer import settings


class DryRun(unittest.TestCase):
    def setUp(self):
        os.environ["MAILER_DRY_RUN"] = "1"
        self.transport = []

    def test_nothing_goes_out(self):
        self.assertFalse(settings.deliver("hello", self.transport))
        self.assertEqual(self.transport, [])

    def test_is_seen(self):
        self.assertTrue(settings.dry_run())
