"""What a window manager, a font and a clock would decide: values that differ from run to run.

With SHOP_TURNS, the path of a directory, they come in turn and not by chance: ten values to be learned from, or with SHOP_LATER the
ten after those. So a run can be repeated.
"""

import os
import random

VALUES = {
    "width": [358, 348, 358, 338, 358, 348, 358, 338, 358, 348] + [348] + [358] * 9,
    "height": [496, 498, 496, 500, 496, 498, 502, 500, 496, 498] + [498] + [496] * 9,
    "y": [22, 22, 17, 22, 22, 17, 22, 22, 17, 22] + [17] + [22] * 9,
    "x": [7, 9, 7, 7, 9, 7, 7, 9, 7, 7] + [9] + [7] * 9,
    "badge": ["3"] * 8 + [""] + ["3"] + [""] + ["3"] * 9,
    "tip": [True] * 10 + [False] + [True] * 9,
}


def draw(name):
    values, turns = VALUES[name], os.environ.get("SHOP_TURNS")
    if turns is None:
        return random.choice(values[:10])
    with open(os.path.join(turns, name), "ab") as counter:
        counter.write(b".")
    turn = os.path.getsize(os.path.join(turns, name)) - 1
    first = 10 if "SHOP_LATER" in os.environ else 0
    return values[first + turn % 10]
