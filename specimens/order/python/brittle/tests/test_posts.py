from blog.database import connect
from blog.posts import slug, title


def test_slug():
    assert slug("Hello World") == "hello-world"


def test_new_database_has_a_post():
    assert len(connect().posts) == 1


def test_slug_of_one_word():
    assert slug("Hello") == "hello"


def test_title():
    assert title(1) == "Hello"
