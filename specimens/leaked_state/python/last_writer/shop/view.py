def table(rows):
    return "\n".join(rows)
