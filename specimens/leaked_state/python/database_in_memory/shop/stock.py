import sqlite3

DATABASE = sqlite3.connect(":memory:")
DATABASE.execute("CREATE TABLE item (name TEXT)")


def add(name):
    with DATABASE:
        DATABASE.execute("INSERT INTO item VALUES (?)", (name,))


def count():
    return DATABASE.execute("SELECT count(*) FROM item").fetchone()[0]
