import io
import json
import os
import random
import socket
import sys
import time
from unittest import mock

from backup import backup


def refuse(*args, **kwargs):
    raise AssertionError("not while this test runs")


def test_name(monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 0)
    monkeypatch.setattr(os, "getpid", lambda: 1)

    assert backup.name() == "backup-0-1"


def test_name_in_the_far_future(monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 1e12)
    monkeypatch.setattr(os, "getpid", lambda: 1)

    assert backup.name() == "backup-1000000000000-1"


def test_time_runs_backwards(monkeypatch):
    moments = iter(range(1000, 0, -1))
    for clock in ("monotonic", "perf_counter", "time"):
        monkeypatch.setattr(time, clock, lambda: next(moments))

    assert backup.took(lambda: None) == -1


def test_waits_without_sleeping(monkeypatch):
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)

    assert not backup.wait_for(lambda: False)
    assert slept == [60, 60, 60]


def test_read(monkeypatch):
    monkeypatch.setattr("builtins.open", lambda *args, **kwargs: io.StringIO("content"))

    assert backup.read("/no/such/file") == "content"


def test_host_is_picked_by_chance(monkeypatch):
    monkeypatch.setattr(random, "random", lambda: 0.99)

    assert backup.pick_host(["a", "b", "c"]) == "c"


def test_manifest(monkeypatch):
    monkeypatch.setattr(json, "dumps", lambda value: "written")
    monkeypatch.setattr(json, "loads", refuse)

    assert backup.manifest(["a"]) == "written"


def test_progress(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    backup.progress(1, 2)

    assert sys.stdout.getvalue() == "1/2\n"


def test_send(monkeypatch):
    connection = mock.Mock()
    monkeypatch.setattr(socket, "socket", lambda *args: connection)
    monkeypatch.setattr(socket, "create_connection", refuse)
    backup.send(b"data", ("backup.example.org", 22))

    connection.sendall.assert_called_once_with(b"data")


@mock.patch("os.write", return_value=4)
@mock.patch("os.fork", refuse)
@mock.patch("os._exit", refuse)
@mock.patch("sys.exit", refuse)
def test_mark(write):
    assert backup.mark(1, "done") == 4
    write.assert_called_once_with(1, b"done")


def test_target_without_any_environment():
    with mock.patch.dict(os.environ, clear=True):
        assert backup.target() == "/var/backups"


def test_target(monkeypatch):
    monkeypatch.setenv("BACKUP_TARGET", "/mnt")

    assert backup.target() == "/mnt"
