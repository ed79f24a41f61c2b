"""A test file with a race: two threads make what a pool makes once."""

RACE = """
import threading

class Pool:
    made = None

    def get(self):
        if self.made is None:
            self.made = object()
        return self.made

def ask_twice():
    pool, answers = Pool(), []

    def ask():
        answers.append(pool.get())

    threads = [threading.Thread(target=ask, name="Thread-%d (ask)" % n) for n in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(set(map(id, answers)))

def test_one():
    assert ask_twice() == 1
"""
# The line between whose test and whose end another thread must not run.
WRITE = 1 + RACE.split("\n").index("            self.made = object()")
