from jobs.planner import plan

JOBS = {"hourly": [0, 1, 2], "nightly": [0, 1]}


def test_nightly_job_is_planned():
    assert "nightly" in plan(JOBS)


def test_hourly_job_is_planned():
    assert "hourly" in plan(JOBS)
