"""Where pytest keeps what a run leaves for a while: its temporary directory, its cache. PYTEST_DONT_REWRITE"""

import os


def make_base_temp(config):
    """One temporary directory for all copies; made by each of them they would clear each other's away."""
    try:
        config._tmp_path_factory.getbasetemp()
    except Exception:
        pass


def spared(config):
    """Directories in which pytest itself keeps things."""
    factory = getattr(config, "_tmp_path_factory", None)
    cache = getattr(getattr(config, "cache", None), "_cachedir", None)
    return [str(path) for path in (getattr(factory, "_basetemp", None), cache) if path is not None]


def unlock(config):
    """Without the lock, later runs of pytest clear this run's temporary directory away as they do with their own."""
    base = getattr(getattr(config, "_tmp_path_factory", None), "_basetemp", None)
    if base is not None:
        try:
            os.unlink(str(base / ".lock"))
        except OSError:
            pass
