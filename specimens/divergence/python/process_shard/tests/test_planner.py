from jobs.planner import plan

JOBS = {"hourly": range(7), "nightly": range(4)}


def test_nightly_job_is_planned():
    assert "nightly" in plan(JOBS)


def test_hourly_job_is_planned():
    assert "hourly" in plan(JOBS)
