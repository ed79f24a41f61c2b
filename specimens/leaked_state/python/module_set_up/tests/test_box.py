from post.box import Box


def setup_module(module):
    module.box = Box()


def test_letters_are_merged():
    box.merge = True
    assert Box().letters == []


def test_two_letters():
    del box.letters[:]
    box.drop("a")
    box.drop("b")
    assert box.letters == ["a", "b"]
