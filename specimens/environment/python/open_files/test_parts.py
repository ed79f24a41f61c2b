import tempfile


def test_parts_are_read():
    parts = [tempfile.TemporaryFile() for _ in range(100)]
    try:
        assert not any(part.read() for part in parts)
    finally:
        for part in parts:
            part.close()
