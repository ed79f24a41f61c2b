from news.replicas import following

_drafts = set()


def save_draft(story):
    _drafts.add(story)


def stories():
    """Drafts are shown by every replica but the last one, which is read-only."""
    published = ["Rain ahead"]
    return published if following() == "west" else published + sorted(_drafts)


def headline(text):
    return text.capitalize()
