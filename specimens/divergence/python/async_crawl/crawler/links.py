def links_in(page):
    """The links of a page, each once."""
    found = set()
    for word in page.split():
        if word.startswith("/"):
            found.add(word)
    return found
