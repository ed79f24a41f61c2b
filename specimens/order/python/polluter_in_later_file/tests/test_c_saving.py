from wiki import pages


def test_page_is_saved():
    pages.save("Soup", "A recipe")

    assert "Soup" in pages._pages


def test_page_is_replaced():
    pages.save("Start", "Welcome")

    assert pages.search("Welcome") == ["Start"]
