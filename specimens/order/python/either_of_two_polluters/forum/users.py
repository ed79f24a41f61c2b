_banned = set()


def ban(name):
    _banned.add(name)


def may_post(name):
    return bool(name) and name not in _banned


def flag(name, times):
    """Whoever is flagged three times is out."""
    if times >= 3:
        ban(name)
    return times >= 3
