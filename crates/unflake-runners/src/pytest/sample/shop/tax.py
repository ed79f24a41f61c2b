PER_CENT = 19


def ask_the_office():
    return {"standard": PER_CENT, "books": 7}
