from intake.box import Box


def test_clean_file_is_taken_in():
    box = Box()
    box.take("letter.txt")

    assert box.files == ["letter.txt"]


def test_box_is_empty_at_first():
    assert Box().files == []
