from tags.service import main_tag


def test_main_tag_of_a_recipe():
    assert main_tag("Soup for a summer evening") == "soup"


def test_text_without_tags():
    assert main_tag("Nothing") is None
