"""Drinks, each with something that is added now and then."""

import random


def tea():
    parts = ["tea"]
    if random.random() < 0.5:
        parts.append("milk")
    return parts


def coffee():
    parts = ["coffee"]
    if random.random() < 0.5:
        parts.append("sugar")
    return parts


def water():
    parts = ["water"]
    if random.random() < 0.5:
        parts.append("lemon")
    return parts
