from settings.store import Store


def test_change_is_seen(tmp_path):
    store = Store(tmp_path / "settings")
    store.set("colour", "red")
    assert store.get("colour") == "red"
    store.set("colour", "blue")

    assert store.get("colour") == "blue"


def test_unknown_name_has_no_value(tmp_path):
    store = Store(tmp_path / "settings")
    store.set("colour", "red")

    assert store.get("size") is None
