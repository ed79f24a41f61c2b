from mail.queue import Queue
from mail.server import Server


def test_refused_message_is_sent_again():
    server = Server()
    queue = Queue(patience=0.165)

    number = queue.send(server, "hello")

    assert server.accepted == {number: "hello"}


def test_known_message_is_accepted_at_once():
    server = Server()
    server.offer("0", "hello")

    assert Queue(patience=0).send(server, "hello") in server.accepted


def test_nothing_is_logged_before_sending():
    assert Queue(patience=1).log == []
