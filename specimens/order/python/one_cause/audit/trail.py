import logging

log = logging.getLogger("audit")


def start():
    log.setLevel(logging.INFO)


def is_kept(what):
    return log.isEnabledFor(logging.INFO) and bool(what)
