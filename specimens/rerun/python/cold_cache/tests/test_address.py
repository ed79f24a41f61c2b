from letters.address import address, greeting_name


def test_three_lines():
    assert address("Ana Lopez", "Main Street 1", "Springfield").count("\n") == 2


def test_no_street():
    assert address("Ana Lopez", "", "Springfield") == "Ana Lopez\nSpringfield"


def test_first_name():
    assert greeting_name("Ana Lopez") == "Ana"
