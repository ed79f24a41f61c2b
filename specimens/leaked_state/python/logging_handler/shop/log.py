import logging

logger = logging.getLogger("shop")


def is_configured():
    return bool(logger.handlers)


def configure(stream):
    """Lines of the shop go to the stream."""
    if is_configured():
        return
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    logger.addHandler(handler)
