"""What a process does to become a daemon."""
import os


def close_inherited():
    """Closes whatever the parent left open, except standard input, output and error."""
    os.closerange(3, 4096)


def pid_file(pid):
    return str(pid)


def log_name(name, day):
    return "%s-%s.log" % (name, day.isoformat())
