from probe import driver


class Alarm:
    def __init__(self, limit):
        self.limit = limit
        self.ringing = False

    def look(self):
        value = driver.read()
        if value > self.limit:
            self.ringing = True
