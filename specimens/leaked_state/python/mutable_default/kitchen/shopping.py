def shopping_list(*items, into=[]):
    """What is to be bought, each once."""
    for item in items:
        if item not in into:
            into.append(item)
    return into


def in_words(items):
    return " and ".join(items) or "nothing"
