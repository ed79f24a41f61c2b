import pytest

from logistics.parcel import Parcel


@pytest.mark.parametrize("goal, hops", [("depot", 0), ("harbour", 2)], ids=["pickup", "express"])
def test_parcel_arrives_in_time(goal, hops):
    assert Parcel("depot").travel(goal) <= hops
