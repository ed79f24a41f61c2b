from jobs.worker import Worker


def test_job_is_done():
    worker = Worker()
    worker.handle("resize 17")

    assert worker.done == ["resize 17"]


def test_stop_ends_the_worker():
    worker = Worker()
    worker.handle("stop")

    assert worker.stopped


def test_jobs_keep_their_order():
    worker = Worker()
    worker.handle_all(["a", "b"])

    assert worker.done == ["a", "b"]


def test_new_worker_is_not_stopped():
    assert not Worker().stopped
