import os
import tempfile
import time


def write(path, text):
    """A reader sees the old text or the new one, and nothing in between."""
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path))
    with os.fdopen(handle, "w") as file:
        file.write(text)
    time.sleep(0.004)  # The disk.
    os.replace(temporary, path)
