def preview(pool, name, amount):
    connection = pool.connection()
    connection.pending.append((name, pool.balances[name] + amount))
    return dict(pool.balances, **dict(connection.pending))


def deposit(pool, name, amount):
    connection = pool.connection()
    connection.pending.append((name, pool.balances[name] + amount))
    connection.commit(pool.balances)
