from contextlib import contextmanager

current = "USD"


@contextmanager
def using(code):
    global current
    before = current
    current = code
    yield
    current = before
