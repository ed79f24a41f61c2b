import os

SHARDS = 7


def current_shard():
    """Workers share the jobs without a word."""
    return os.getpid() % SHARDS
