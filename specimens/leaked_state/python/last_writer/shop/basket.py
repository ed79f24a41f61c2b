lines = None


def reset():
    global lines
    lines = []


def add(article):
    lines.append(article)


def is_unused():
    return lines is None
