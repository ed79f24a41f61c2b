from rpc.server import NewServer, OldServer


def test_old_server_echoes():
    assert OldServer().echo(7) == 7


def test_new_server_still_speaks_the_old_version():
    assert NewServer().echo(7) == 7


def test_versions():
    assert (OldServer.version, NewServer.version) == (1, 2)
