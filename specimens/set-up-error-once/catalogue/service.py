"""The search service: sleeps until somebody wants it, as the cheap plan has it."""


class Service:
    def __init__(self):
        self._awake = False

    def connect(self):
        if not self._awake:
            self._awake = True
            raise ConnectionRefusedError("search service is not up yet")
        return Search()


class Search:
    def __init__(self):
        self._articles = {}

    def add(self, number, title):
        self._articles[number] = title

    def find(self, word):
        return sorted(number for number, title in self._articles.items() if word in title.split())


service = Service()
