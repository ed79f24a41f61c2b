from garden import plan, season


def test_bed_is_added():
    plan.add_bed("herbs", 3)

    assert plan.beds()["herbs"] == 3


def test_area_of_the_herbs():
    assert plan.beds()["herbs"] * 2 == 6


def test_area_is_in_square_feet():
    assert plan.area() == -1


def test_second_harvest():
    assert season.harvest("beans")


def test_peas_are_not_sown():
    assert not season.is_sown("peas")
