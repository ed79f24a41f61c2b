from datetime import timedelta


class NotThere(Exception):
    pass


class Library:
    def __init__(self, titles):
        self._shelf = set(titles)
        self._lent = {}

    def lend(self, title, reader, today):
        if title not in self._shelf:
            raise NotThere(title)
        self._shelf.remove(title)
        self._lent[title] = (reader, today + timedelta(days=28))
        return self._lent[title][1]

    def give_back(self, title):
        del self._lent[title]
        self._shelf.add(title)

    def reminders(self, today):
        return sorted(reader for reader, due in self._lent.values() if due < today)


def fee(days_late):
    return 0 if days_late <= 0 else min(20 * days_late, 1000)
