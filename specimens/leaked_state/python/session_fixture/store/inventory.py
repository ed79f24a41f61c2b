class Inventory:
    def __init__(self, articles):
        self._articles = dict(articles)

    def remove(self, article):
        return self._articles.pop(article)

    def articles(self):
        return sorted(self._articles)

    def pieces(self):
        return sum(self._articles.values())
