from shop import session


def test_login():
    session.user, session.token, session.language = "ada", "t-1", "fr"


def test_orders():
    assert session.user and session.token


def test_language():
    assert session.language in ("en", "fr")
