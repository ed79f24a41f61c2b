from export import formats


def test_csv():
    assert formats.write("csv", ["a", "b"]) == "a,b"


def test_html():
    import export.html

    assert export.html.writer(["a"]) == "<tr><td>a</td></tr>"


def test_empty_row():
    assert formats.write("csv", []) == ""


def test_only_csv_comes_by_itself():
    assert formats.names() == ["csv"]


def test_new_format(monkeypatch):
    monkeypatch.setattr(formats, "_writers", {})
    formats.register("tsv", "\t".join)

    assert formats.names() == ["tsv"]
