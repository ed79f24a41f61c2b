import json
import os
import random
import socket
import sys
import time


def name():
    return "backup-%d-%d" % (time.time(), os.getpid())


def took(work):
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def wait_for(ready, tries=3):
    for _ in range(tries):
        if ready():
            return True
        time.sleep(60)
    return False


def read(path):
    with open(path) as file:
        return file.read()


def pick_host(hosts):
    return hosts[int(random.random() * len(hosts))]


def manifest(files):
    return json.dumps({"files": files})


def progress(done, total):
    sys.stdout.write("%d/%d\n" % (done, total))


def send(data, address):
    connection = socket.socket()
    connection.connect(address)
    connection.sendall(data)


def mark(descriptor, text):
    return os.write(descriptor, text.encode())


def target():
    return os.environ.get("BACKUP_TARGET", "/var/backups")
