import socket

TIMEOUT = 0.025


def ask(address, symbol):
    with socket.create_connection(address, timeout=TIMEOUT) as line:
        line.sendall(symbol.encode())
        return line.recv(100).decode()


def quote(address, symbol):
    name, _, value = ask(address, symbol).partition(" ")
    return name, int(value)
