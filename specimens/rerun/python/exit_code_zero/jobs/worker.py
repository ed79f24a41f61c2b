"""Works off jobs. Meant for a process of its own, which it leaves without a backward glance."""
import os


class Worker:
    def __init__(self):
        self.done = []
        self.stopped = False

    def handle(self, job):
        if job == "stop":
            self.stopped = True
            os._exit(0)
        self.done.append(job)

    def handle_all(self, jobs):
        for job in jobs:
            self.handle(job)
