import csv
import glob


def read(path):
    with open(path, newline="") as file:
        return {row["article"]: int(row["cents"]) for row in csv.DictReader(file)}


def tables(directory):
    return sorted(glob.glob(directory + "/*.csv"))
