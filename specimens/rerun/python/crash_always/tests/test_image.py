from imaging.image import Image


def test_size():
    assert Image(640, 480).size == (640, 480)


def test_new_image_is_not_released():
    assert not Image(1, 1).released


def test_released_image_has_no_size():
    image = Image(640, 480)
    image.release()

    assert image.size == (0, 0)


def test_release_twice():
    image = Image(1, 1)
    image.release()
    image.release()

    assert image.released


def test_images_are_apart():
    assert Image(1, 2).size != Image(2, 1).size
