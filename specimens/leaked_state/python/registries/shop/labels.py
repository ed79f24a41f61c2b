"""Labels for goods, extended by classes and functions that register themselves."""

import abc
import codecs
import functools


class Label:
    pass


@functools.lru_cache(maxsize=None)
def label_of(colour):
    return type(colour.title() + "Label", (Label,), {"colour": colour})


def colours():
    return [one.colour for one in Label.__subclasses__()]


class Printable(abc.ABC):
    pass


class Sticker:
    pass


class Material(type):
    known = {}

    def __init__(cls, name, bases, body):
        super().__init__(name, bases, body)
        Material.known[name] = cls


class Paper(metaclass=Material):
    pass


@functools.singledispatch
def text(value):
    return "?"


def price_codec(name):
    if name == "price":
        plain = codecs.lookup("ascii")
        return codecs.CodecInfo(plain.encode, plain.decode, name="price")
    return None
