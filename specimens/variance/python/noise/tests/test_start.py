import os

from server.start import Server


def test_server_tells_about_itself():
    server = Server()
    text = server.describe()
    print(text, server)
    assert server.name in text
    assert server.port > 0
    assert os.path.isdir(server.place)
    os.rmdir(server.place)
