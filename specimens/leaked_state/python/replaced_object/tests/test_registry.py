from shop import registry


def test_no_fax():
    assert "fax" not in registry.current.handlers


def test_new_registry():
    registry.current = registry.Registry()
    registry.current.handlers["fax"] = "print"


def test_name():
    assert registry.current.name == "main"
