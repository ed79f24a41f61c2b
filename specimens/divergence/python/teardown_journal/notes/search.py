import time


def find(entries, word):
    time.sleep(0.02)  # The index is on another machine.
    return [entry for entry in entries if word in entry]
