"""The other end: whoever calls the shop's webhooks."""
import http.client
import random
import socket


def a_free_port():
    """From below the range that systems hand out by themselves, so that nobody gets it by accident."""
    chance = random.SystemRandom()
    while True:
        port = chance.randrange(20000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


PORT = a_free_port()


def request(method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", PORT)
    try:
        connection.request(method, path, body)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()
