class Fund:
    def __init__(self, **shares):
        self.shares = shares

    def names(self):
        return set(self.shares)
