import threading

from store.connection import Pool


def ask_twice(pool):
    answers = []

    def ask():
        answers.append(pool.get())

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_one_connection():
    first, second = ask_twice(Pool())
    assert first is second


def test_one_connection_opened_first():
    pool = Pool()
    pool.get()
    first, second = ask_twice(pool)
    assert first is second
