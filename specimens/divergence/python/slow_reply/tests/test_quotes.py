from quotes import client
from quotes.server import Server


def test_quote_arrives():
    server = Server()
    try:
        assert client.quote(server.address, "ACME") == ("ACME", 42)
    finally:
        server.close()


def test_client_is_in_a_hurry():
    assert client.TIMEOUT < 1
