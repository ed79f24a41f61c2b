from shop import settings


def test_language_is_kept():
    settings.set_language("fr")

    assert settings.language() == "fr"


def test_language_at_first():
    assert settings.language() == "en"
