import os

from prices import table


def test_two_digits(tmp_path):
    (tmp_path / "one.csv").write_text("article,cents\nhat,12\n")

    assert table.read(str(tmp_path / "one.csv")) == {"hat": 12}


def test_no_tables(tmp_path):
    assert table.tables(str(tmp_path)) == []


def test_tables_of_this_directory():
    os.chdir("data")

    assert table.tables(".") == ["./spring.csv"]


def test_spring_prices():
    assert table.read("data/spring.csv") == {"shoes": 8990, "socks": 490}


def test_empty_table(tmp_path):
    (tmp_path / "none.csv").write_text("article,cents\n")

    assert table.read(str(tmp_path / "none.csv")) == {}
