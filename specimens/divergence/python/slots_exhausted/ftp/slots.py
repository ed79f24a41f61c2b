class NoSlot(Exception):
    pass


class Slots:
    def __init__(self, size):
        self.size = self.free = size

    def take(self):
        if self.free == 0:
            raise NoSlot("all %d are taken" % self.size)
        self.free -= 1

    def give_back(self):
        self.free += 1
