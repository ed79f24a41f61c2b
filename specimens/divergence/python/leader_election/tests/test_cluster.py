import pytest

from cluster.election import elect
from cluster.node import Node


@pytest.fixture
def nodes():
    nodes = [Node("a"), Node("b")]
    yield nodes
    for node in nodes:
        node.close()


def test_first_node_leads(nodes):
    elect(nodes)
    journal = []
    for node in nodes:
        node.write(journal, "begin")

    assert journal == [("a", "begin")]


def test_there_is_one_leader(nodes):
    elect(nodes)

    assert sorted(node.role for node in nodes) == ["follower", "leader"]
