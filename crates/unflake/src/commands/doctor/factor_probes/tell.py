"""Tells one fact of the world it runs in: `unflake doctor --factors` asks."""

import errno
import os
import socket
import sys
import threading
import time


def date():
    return int(time.time())


def sleep():
    began, day = time.monotonic(), time.time()
    time.sleep(4)
    return "%d %d" % ((time.monotonic() - began) * 1000, (time.time() - day) * 1000)


def zone():
    return time.localtime(1800000000).tm_gmtoff


def locale():
    import locale

    return locale.setlocale(locale.LC_ALL, "") + " " + locale.getpreferredencoding(False)


def hashes():
    return hash("unflake")


def random():
    return os.urandom(8).hex()


def cores():
    return os.cpu_count()


def busy():
    count, end = 0, time.monotonic() + 0.4
    while time.monotonic() < end:
        count += 1
    return count


def memory():
    try:
        bytearray(4 << 30)
    except MemoryError:
        return "refused"
    return "given"


def files():
    kept = []
    try:
        for _ in range(100):
            kept.append(open(os.devnull))
    except OSError:
        return "refused"
    return "given"


def sleeps():
    began = time.monotonic()
    for _ in range(20):
        time.sleep(0.001)
    return int((time.monotonic() - began) * 1000)


def connect():
    try:
        socket.create_connection(("192.0.2.1", 9), 1)
    except OSError as error:
        return "unreachable" if error.errno == errno.ENETUNREACH else str(error)
    return "connected"


def echo():
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen()
    began = time.monotonic()
    thread = threading.Thread(target=lambda: server.accept()[0].sendall(b"x"))
    thread.start()
    socket.create_connection(server.getsockname()).recv(1)
    thread.join()
    return int((time.monotonic() - began) * 1000)


def addresses():
    return "%x" % id(object())


def turns():
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
    return "%d" % round(sys.getswitchinterval() * 1e6)


def listing():
    return " ".join(os.listdir(sys.argv[2]))


def variable():
    return os.environ.get("FACTOR_PROBE", "")


def home():
    return os.path.expanduser("~")


print(globals()[{"hash": "hashes"}.get(sys.argv[1], sys.argv[1])]())
