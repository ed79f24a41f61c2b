from news import front


def test_headline():
    assert front.headline("rain ahead") == "Rain ahead"


def test_draft_is_saved():
    front.save_draft("Sun behind")

    assert "Sun behind" in front._drafts


def test_empty_headline():
    assert front.headline("") == ""


def test_only_published_stories():
    assert front.stories() == ["Rain ahead"]


def test_headline_is_not_shouted():
    assert front.headline("RAIN") == "Rain"
