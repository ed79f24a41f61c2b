import os
from datetime import date

import pytest

from daemon.daemon import close_inherited, log_name, pid_file


def test_log_name():
    assert log_name("mail", date(2024, 5, 1)) == "mail-2024-05-01.log"


def test_inherited_descriptors_are_closed():
    reading, writing = os.pipe()

    close_inherited()

    for descriptor in (reading, writing):
        with pytest.raises(OSError):
            os.fstat(descriptor)


def test_standard_error_stays_open():
    close_inherited()

    os.fstat(2)


def test_pid_file_ends_with_a_newline():
    assert pid_file(4711) == "4711\n"


def test_pid_file_holds_the_pid():
    assert int(pid_file(4711)) == 4711
