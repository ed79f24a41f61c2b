def verdict(fund):
    total = 0.0
    for name in fund.names():
        total += fund.shares[name]
    if total != 1.0:
        return "incomplete: %r" % total
    return "complete"
