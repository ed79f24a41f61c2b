_pages = {"Start": "Welcome"}


def save(name, text):
    _pages[name] = text


def search(word):
    return sorted(name for name, text in _pages.items() if word in text)


def link(name):
    return "/wiki/" + name.replace(" ", "_")
