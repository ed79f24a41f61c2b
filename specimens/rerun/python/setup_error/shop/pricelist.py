import csv


def load(path):
    with open(path, newline="") as file:
        return parse(file)


def parse(lines):
    return {article: int(cents) for article, cents in csv.reader(lines)}
