import functools
import re

_patterns = {}
_stop_words = None


def pattern(word):
    if word not in _patterns:
        _patterns[word] = re.compile(r"\b%s\b" % re.escape(word), re.IGNORECASE)
    return _patterns[word]


def count(word, text):
    return len(pattern(word).findall(text))


def stop_words():
    global _stop_words
    if _stop_words is None:
        _stop_words = frozenset("the a an of and".split())
    return _stop_words


@functools.lru_cache(maxsize=None)
def stem(word):
    return word[:-1] if word.endswith("s") else word


class Reader:
    _instance = None
    seen = 0

    @classmethod
    def shared(cls):
        if cls._instance is None:
            cls._instance = cls()
        return cls._instance

    def read(self, text):
        Reader.seen += 1
        return [stem(word) for word in text.lower().split() if word not in stop_words()]
