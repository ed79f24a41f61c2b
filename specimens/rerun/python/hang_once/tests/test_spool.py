import os

from mailer.spool import Spool

SPOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "spool")


def test_nothing_is_spooled_at_first(tmp_path):
    assert Spool(str(tmp_path)).mails() == []


def test_mail_is_spooled():
    spool = Spool(SPOOL)
    spool.add("to ana: your order is on its way")

    assert spool.mails() == ["to ana: your order is on its way"]


def test_mails_keep_their_order(tmp_path):
    spool = Spool(str(tmp_path))
    spool.add("first")
    spool.add("second")

    assert spool.mails() == ["first", "second"]


def test_lock_is_dropped(tmp_path):
    Spool(str(tmp_path)).add("mail")

    assert not (tmp_path / "lock").exists()
