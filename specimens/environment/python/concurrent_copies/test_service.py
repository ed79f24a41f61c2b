import socket
import time


def serve(seconds):
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 28741))
        listening.listen()
        time.sleep(seconds)


def test_it_listens():
    serve(0.2)
