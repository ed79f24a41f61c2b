class Connection:
    pass


class Pool:
    def __init__(self):
        self.connection = None

    def get(self):
        if self.connection is None:
            self.connection = Connection()
        return self.connection
