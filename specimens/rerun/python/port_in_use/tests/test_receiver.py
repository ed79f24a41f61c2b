from caller import PORT, request

from webhooks.receiver import Receiver


def test_delivery_is_accepted():
    with Receiver(PORT):
        assert request("POST", "/orders", "order 17 paid") == (202, b"accepted")


def test_status_page():
    with Receiver(PORT):
        assert request("GET", "/status") == (200, b"0 waiting")
