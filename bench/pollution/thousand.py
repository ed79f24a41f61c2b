"""A suite of a thousand tests of a millisecond, made here, in which one test pollutes, two pollute together, and one sets up
what another needs; at places that a seed decides."""

import random
import shutil

import suites

TESTS, FILES = 1000, 20
PARTS = {
    "polluter": "shop.prices['vat'] = None",
    "victim": "assert shop.prices['vat'] == 19",
    "half": "shop.prices['rebate'] = 100",
    "other_half": "shop.prices['floor'] = None",
    "victim_of_two": "assert shop.prices['rebate'] < 100 or shop.prices['floor'] is not None",
    "setter": "shop.prices['opened'] = True",
    "brittle": "assert shop.prices['opened']",
}
# Who must come before whom for it to show, and what the answer is.
QUESTIONS = {
    "one polluter": ("victim", ["polluter"]),
    "two polluters needed together": ("victim_of_two", ["half", "other_half"]),
    "a brittle": ("brittle", ["setter"]),
}


class Thousand:
    def __init__(self, seed):
        dice = random.Random(seed)
        places = dict(zip(dice.sample(range(TESTS), len(PARTS)), PARTS))
        directory = suites.PLACE / ("made-pollution-%d" % seed)
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        (directory / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
        (directory / "shop.py").write_text("prices = {'vat': 19, 'rebate': 0, 'floor': 1, 'opened': False}\n")
        self.directory, self.seed, self._ids = directory, seed, {}
        a_file = TESTS // FILES
        for number in range(FILES):
            name = "test_%02d.py" % number
            lines = ["import time\n\nimport shop\n"]
            for place in range(number * a_file, (number + 1) * a_file):
                part = places.get(place)
                if part:
                    self._ids[part] = "%s::test_%d" % (name, place)
                lines.append("def test_%d():\n    time.sleep(0.001)\n    %s\n" % (place, PARTS.get(part, "assert shop.prices")))
            (directory / name).write_text("\n\n".join(lines))
        suites.as_repository(directory)

    def question(self, name):
        """The test to be explained, and the tests that explain it."""
        test, culprits = QUESTIONS[name]
        return self._ids[test], [self._ids[one] for one in culprits]
