from webhooks.inbox import inbox


def test_worker_empties_the_inbox():
    inbox.put("order 18 paid")
    seen = []

    inbox.work_off(seen.append)

    assert "order 18 paid" in seen
    assert len(inbox) == 0
