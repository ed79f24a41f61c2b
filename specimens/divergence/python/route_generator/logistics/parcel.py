from logistics.route import route


class Parcel:
    def __init__(self, start):
        self.start = start
        self.hops = 0

    def travel(self, goal):
        for place in route(self.start, goal):
            self.hops += 1
        return self.hops
