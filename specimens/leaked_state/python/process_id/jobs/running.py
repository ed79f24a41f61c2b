"""Which processes have a job under way."""
import os

_running = set()


class Busy(Exception):
    pass


def begin(job):
    if os.getpid() in _running:
        raise Busy(job)
    _running.add(os.getpid())
    return job


def is_idle():
    return os.getpid() not in _running


def label(job):
    return job.strip().title()
