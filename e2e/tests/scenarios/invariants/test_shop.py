"""Calls each function forty times in the first run and never in the second."""

import os

import shop


def numbers(name):
    done = os.path.join("..", "done-" + name)
    if os.path.exists(done):
        return []
    open(done, "w").close()
    return range(40)


def test_sign():
    [shop.sign(i - 20) for i in numbers("sign")]


def test_twice():
    [shop.twice(i) for i in numbers("twice")]


def test_clamp():
    [shop.clamp(i - 20, 0, 5) for i in numbers("clamp")]


def test_constant():
    [shop.constant("ab"[i % 2]) for i in numbers("constant")]


def test_find():
    [shop.find(i) for i in numbers("find")]


def test_nothing():
    [shop.nothing(i % 2) for i in numbers("nothing")]


def test_span():
    [shop.span(i, i + 1 + i % 3) for i in numbers("span")]


def test_size():
    [shop.size([7] * (i % 4)) for i in numbers("size")]


def test_average():
    [shop.average(i / 4, i / 2 + 1) for i in numbers("average")]


def test_deposit():
    account = shop.Account()
    [account.deposit(1 + i % 5) for i in numbers("deposit")]
