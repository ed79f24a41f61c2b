"""The search service: sleeps until somebody wants it, as the cheap plan has it. Once awake it is so for everybody."""
import os


class Service:
    def __init__(self, directory):
        self._awake = os.path.join(directory, "awake")

    def connect(self):
        if not os.path.exists(self._awake):
            open(self._awake, "w").close()
            raise ConnectionRefusedError("search service is not up yet")
        return Search()


class Search:
    def __init__(self):
        self._articles = {}

    def add(self, number, title):
        self._articles[number] = title

    def find(self, word):
        return sorted(number for number, title in self._articles.items() if word in title.split())


service = Service(os.path.dirname(os.path.abspath(__file__)))
