"""A search index in a directory. A journal says that an index was begun there."""
import os


class Index:
    def __init__(self, directory):
        self._words = {}
        self._journal = os.path.join(directory, "journal")
        if os.path.exists(self._journal):
            self._recover()
        else:
            self._begin()

    def _begin(self):
        with open(self._journal, "w") as journal:
            journal.write("begun\n")
        # The storage engine gives up on an index without a single segment.
        os.abort()

    def _recover(self):
        with open(self._journal) as journal:
            for line in journal:
                if line.startswith("add "):
                    _, document, text = line.split(" ", 2)
                    self._remember(document, text)

    def _remember(self, document, text):
        for word in words_of(text):
            self._words.setdefault(word, set()).add(document)

    def find(self, word):
        return self._words.get(word.lower(), set())


def words_of(text):
    return text.lower().split()
