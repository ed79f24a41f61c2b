def render(rows):
    width = max(map(len, rows))
    for row in rows:
        row += [""] * (width - len(row))
    return "\n".join("|".join(row) for row in rows)
