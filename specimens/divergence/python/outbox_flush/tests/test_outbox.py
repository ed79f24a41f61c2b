import time

from notes.outbox import Outbox


def test_note_is_sent():
    outbox = Outbox()
    outbox.put("buy milk")
    time.sleep(0.025)
    sent = list(outbox.sent)
    outbox.close()

    assert sent == ["buy milk"]


def test_everything_is_sent_at_the_end():
    outbox = Outbox()
    outbox.put("buy milk")
    outbox.close()

    assert outbox.sent == ["buy milk"]
