from rpc import signature
from rpc.client import Client
from rpc.server import NewServer, OldServer


def test_equal_versions():
    signature.reset_cache()

    assert Client(NewServer()).echo(3) == -3


def test_new_client_and_old_server():
    assert Client(OldServer()).echo(3) == 3
