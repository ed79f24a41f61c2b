from spool import queue


def test_nothing_has_no_pages():
    assert queue.pages("") == 0


def test_job_waits():
    queue.add("letter", "Dear all,\n")

    assert "letter" in queue.waiting()


def test_full_page():
    assert queue.pages("line\n" * 60) == 1


def test_queue_is_empty_at_first():
    assert queue.waiting() == []


def test_page_and_a_line():
    assert queue.pages("line\n" * 61) == 2
