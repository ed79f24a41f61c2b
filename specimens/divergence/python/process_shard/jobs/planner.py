from jobs.shard import current_shard


def plan(jobs):
    own = current_shard()
    planned = []
    for name, shards in jobs.items():
        if own in shards:
            planned.append(name)
    return planned
