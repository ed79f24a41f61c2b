from forum import users


def test_nobody_may_not_post():
    assert not users.may_post("")


def test_banned():
    users.ban("mallory")

    assert not users.may_post("mallory")


def test_two_flags():
    assert not users.flag("mallory", 2)


def test_three_flags():
    assert users.flag("mallory", 3)


def test_mallory_may_post():
    assert users.may_post("mallory")


def test_alice_may_post():
    assert users.may_post("alice")
