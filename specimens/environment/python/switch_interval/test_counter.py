import threading


class Counter:
    def __init__(self):
        self.value = 0

    def more(self):
        self.value = after(self.value)


def after(number):
    for _ in range(10_000):
        number += 1
    return number - 9_999


def test_nothing_is_lost():
    counter = Counter()
    threads = [threading.Thread(target=counter.more) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.value == 3
