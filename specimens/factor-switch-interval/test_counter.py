import threading


class Counter:
    def __init__(self):
        self.value = 0

    def more(self):
        self.value = after(self.value)


def after(number):
    return number + 1


def count(counter, times):
    for _ in range(times):
        counter.more()


def test_nothing_is_lost():
    counter = Counter()
    threads = [threading.Thread(target=count, args=(counter, 400)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.value == 2400
