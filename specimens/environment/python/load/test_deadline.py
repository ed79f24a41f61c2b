import os
import socket
import struct
import time

DEADLINE = struct.pack("ll", 0, 250_000)


def work(seconds):
    """So much work, however long it takes."""
    begun = time.process_time()
    while time.process_time() - begun < seconds:
        sum(range(500))


def test_the_answer_is_in_time():
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        work(0.05)
        theirs.sendall(b"done")
        os._exit(0)
    theirs.close()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, DEADLINE)
    try:
        assert ours.recv(4) == b"done"
    finally:
        ours.close()
        os.waitpid(pid, 0)
