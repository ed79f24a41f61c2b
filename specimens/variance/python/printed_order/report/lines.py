"""What a report prints, in whatever order its parts are ready."""

import random


def print_report():
    parts = ["sales: 3", "returns: 1", "visits: 9"]
    random.shuffle(parts)
    for part in parts:
        print(part)
    return len(parts)
