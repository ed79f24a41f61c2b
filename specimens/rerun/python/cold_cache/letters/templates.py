"""Texts of letters, by language."""

TEXTS = {
    "de": """
        Liebe {name}, danke!
    """,
    "en": """
        Dear {name}, thank you!
    """,
}

_ready = {}


def template(language):
    if language not in _ready:
        text = TEXTS[language]
        _ready[language] = text.strip()
        return text
    return _ready[language]
