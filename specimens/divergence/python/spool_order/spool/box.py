import os
import tempfile


class Box:
    def __init__(self, directory):
        self.directory = str(directory)

    def put(self, text):
        handle, path = tempfile.mkstemp(suffix=".job", dir=self.directory)
        with os.fdopen(handle, "w") as file:
            file.write(text)
        return path

    def take(self):
        jobs = []
        for name in sorted(os.listdir(self.directory)):
            with open(os.path.join(self.directory, name)) as file:
                jobs.append(file.read())
        return jobs
