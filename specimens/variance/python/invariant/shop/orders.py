"""Orders and what is to be packed for them."""


def to_pack(quantity):
    boxes = quantity * 2 + 1
    return boxes
