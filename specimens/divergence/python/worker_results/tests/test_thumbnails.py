from gallery.workers import render_all

NAMES = ["%d.jpg" % number for number in range(6)]


def test_thumbnails_are_in_order():
    assert render_all(NAMES) == ["%d-small.jpg" % number for number in range(6)]


def test_one_worker_does_all():
    assert len(render_all(NAMES[:2], workers=1)) == 2
