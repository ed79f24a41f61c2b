import pytest

from net.client import Client, Refused


class Server:
    def __init__(self, refusals):
        self.refusals = refusals
        self.asked = 0

    def __call__(self, path):
        self.asked += 1
        if self.asked <= self.refusals:
            raise Refused
        return "page " + path


def test_page_is_fetched():
    assert Client(Server(0)).fetch("/") == "page /"


def test_retries_can_be_switched_off():
    patient, hasty = Server(9), Server(9)
    with pytest.raises(Refused):
        Client(patient).fetch("/")
    Client.retries = 0
    with pytest.raises(Refused):
        Client(hasty).fetch("/")

    assert (patient.asked, hasty.asked) == (4, 1)


def test_path_is_passed_on():
    assert Client(Server(0)).fetch("/news") == "page /news"


class TestRetries:
    def test_third_retry_succeeds(self):
        assert Client(Server(3)).fetch("/") == "page /"

    def test_fourth_is_not_tried(self):
        server = Server(9)
        with pytest.raises(Refused):
            Client(server).fetch("/")

        assert server.asked < 5
