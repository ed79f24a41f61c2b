from wiki.pages import link


def test_link():
    assert link("Start") == "/wiki/Start"


def test_spaces():
    assert link("Main Page") == "/wiki/Main_Page"
