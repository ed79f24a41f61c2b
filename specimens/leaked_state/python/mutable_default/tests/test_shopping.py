from kitchen.shopping import in_words, shopping_list


def test_items_come_in_their_order():
    assert shopping_list("milk", "eggs", into=["salt"]) == ["salt", "milk", "eggs"]


def test_each_item_comes_once():
    bought = shopping_list("milk", "milk")
    bought.append("bread")

    assert bought == ["milk", "bread"]


def test_words_of_several():
    assert in_words(["milk", "eggs"]) == "milk and eggs"


def test_nothing_to_buy():
    assert in_words(shopping_list()) == "nothing"


def test_words_of_one():
    assert in_words(["milk"]) == "milk"
