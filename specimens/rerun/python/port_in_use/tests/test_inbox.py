from webhooks.inbox import Inbox


def test_nothing_waits_at_first():
    assert len(Inbox()) == 0


def test_empty_inbox_calls_back_at_once():
    called = []
    Inbox().when_empty(lambda: called.append(True))

    assert called
