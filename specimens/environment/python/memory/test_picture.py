import mmap


def blank(width, height):
    return mmap.mmap(-1, width * height * 4)


def test_it_is_blank():
    with blank(16_000, 10_000) as picture:
        assert picture[:4] == bytes(4)
