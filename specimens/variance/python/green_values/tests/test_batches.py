from feed.batches import next_batch


def test_batch_is_not_empty():
    batch = next_batch(["a", "b", "c", "d"])
    assert len(batch) >= 1


def test_nothing_comes_of_nothing():
    assert next_batch([]) == []
