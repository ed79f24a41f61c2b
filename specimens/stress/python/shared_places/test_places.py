"""Each test uses a place that copies of it use, too: a file, a directory, a port."""

import os
import shutil
import socket
import time

HOLD = 0.1


def test_file():
    with open("/tmp/unflake-places-file", "w") as file:
        file.write(str(os.getpid()))
    time.sleep(HOLD)
    with open("/tmp/unflake-places-file") as file:
        assert file.read() == str(os.getpid())
    os.remove("/tmp/unflake-places-file")


def test_directory():
    shutil.rmtree("reports", ignore_errors=True)
    os.mkdir("reports")
    time.sleep(HOLD)
    os.mkdir("reports/daily")
    assert os.listdir("reports") == ["daily"]


def test_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 18941))
        server.listen()
        time.sleep(HOLD)
        socket.create_connection(("127.0.0.1", 18941)).close()
