"""What a server can do, asked once for each protocol."""

_cache = {}


def of(server):
    """The methods of the server's protocol, from the cache where it has been asked before."""
    if server.protocol not in _cache:
        _cache[server.protocol] = frozenset(name for name in dir(server) if name.startswith("echo"))
    return _cache[server.protocol]


def reset_cache():
    _cache.clear()
