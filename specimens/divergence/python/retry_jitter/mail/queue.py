import uuid

from mail.backoff import delay_before


class GaveUp(Exception):
    pass


class Queue:
    def __init__(self, patience):
        self.patience = patience
        self.log = []

    def send(self, server, text):
        number = uuid.uuid4().hex
        self.log.append("sending " + number)
        waited, attempt = 0.0, 0
        while not server.connect().offer(number, text):
            waited += delay_before(attempt)
            if waited > self.patience:
                raise GaveUp("%s after %.2f s" % (text, waited))
            attempt += 1
        self.log.append("sent " + number)
        return number
