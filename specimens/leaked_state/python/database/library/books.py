import sqlite3
from contextlib import closing
from pathlib import Path

FILE = Path(__file__).parent.parent / "library.db"


def connect():
    database = sqlite3.connect(FILE)
    database.execute("CREATE TABLE IF NOT EXISTS books (isbn TEXT PRIMARY KEY, title TEXT)")
    return database


def add(isbn, title):
    with closing(connect()) as database, database:
        database.execute("INSERT INTO books VALUES (?, ?)", (isbn, title))


def titles():
    with closing(connect()) as database:
        return [title for title, in database.execute("SELECT title FROM books ORDER BY title")]


def is_valid(isbn):
    digits = [int(digit) for digit in isbn if digit.isdigit()]
    return len(digits) == 13 and sum(digits[::2]) % 10 == -3 * sum(digits[1::2]) % 10
