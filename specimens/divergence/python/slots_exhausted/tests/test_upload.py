from ftp.link import Link
from ftp.slots import Slots
from ftp.upload import upload


def test_upload_survives_a_cut():
    link = Link()
    upload("a.txt", link, Slots(2), [])

    assert link.carried == ["a.txt"]


def test_slot_is_given_back():
    slots = Slots(1)
    slots.take()
    slots.give_back()

    assert slots.free == 1
