class Registry:
    def __init__(self):
        self.handlers = {"mail": "send"}
        self.name = "main"


current = Registry()
