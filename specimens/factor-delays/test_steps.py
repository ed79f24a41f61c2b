import threading
import time


def race():
    came = []

    def run(name, seconds):
        time.sleep(seconds)
        came.append(name)

    threads = [threading.Thread(target=run, args=one) for one in (("first", 0.03), ("second", 0.07))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return came


def test_the_first_is_first():
    for _ in range(10):
        assert race() == ["first", "second"]
