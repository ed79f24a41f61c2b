"""Hears from every assertion that is evaluated: tells it, and decides whether one that failed counts. PYTEST_DONT_REWRITE

What is generated into the project's code calls `held`, `failed` and `raised` with the id of a site, through names in `builtins` that
no source can have. Nothing is locked: a site may be told twice by two threads, but never after the first assertion that mentions it.
"""

import sys

from .catchers import Catchers
from .operand_text import Values
from ..common.value_text import SURPRISES

# Evaluations of one site that are told of an attempt. Failures are told beyond that.
MOST_HELD = 1000
MOST = 20_000
LAYER = "assertion"
UNSEEN = type("Unseen", (), {"__slots__": ()})()


class Recorder:
    def __init__(self):
        self.sites = {}
        self.sheet = None
        self.catchers = Catchers()
        self._filters = {}
        self._text = Values()
        self._frame, self._exception = sys._getframe, sys.exc_info
        self._test = None
        self._filtered = frozenset()
        self._told, self._counts, self._all = set(), {}, 0
        self._gaps = []  # From before the first attempt.

    def add(self, site, name, version, place):
        """Knows a site from now on, by an id that code may be kept with: the name of its file, the version of that, and its place there.
        A file that is loaded twice has its sites once."""
        site.id = "%s#%s#%d" % (name, version, place)
        site.key, site.number = (name, site.function, site.expression, site.ordinal), len(self.sites)
        return self.sites.setdefault(site.id, site)

    def filter(self, wanted):
        """From now on these assertions do not fail the tests that they are listed for."""
        filters = {}
        for one in wanted:
            key = one["file"], one["function"], one["expression"], one["ordinal"]
            filters.setdefault(one["test"], set()).add(key)
        self._filters = filters

    def begin(self, test):
        self._told, self._counts, self._all = set(), {}, 0
        self._filtered = self._filters.get(test, frozenset())
        self._test = test
        for words in self._gaps:
            self.gap(words)

    def end(self):
        self._test = None

    def gap(self, words):
        if self._test is None:
            self._gaps.append(words)
        elif self.sheet is not None:
            self.sheet.gap(LAYER, words)

    # -- From the code of the project ---------------------------------------------------------------------------------

    def held(self, id, *values):
        if self._test is not None and self.sheet is not None:
            site = self.sites[id]
            self._tell(site, "held", self.seen, (site, values))

    def raised(self, id):
        """Something else came out of the assertion."""
        self.told(self.sites[id], "raised", self.labelled, [("exception", self._exception()[1])])

    def failed(self, id, *values):
        """Whether it counts."""
        site = self.sites[id]
        return self.counts(site, AssertionError, self._frame(1), self.seen, site, values)

    def judged(self, id, is_false):
        """Whether it fails and that counts, for an assertion of which nothing else is known."""
        site = self.sites[id]
        if is_false:
            return self.counts(site, AssertionError, self._frame(1), self.seen, site, ())
        self.told(site, "held", self.seen, site, ())
        return False

    # -- From all of them ---------------------------------------------------------------------------------------------

    def counts(self, site, kind, frame, see, *arguments):
        """Whether a failure counts that would leave `frame` as an exception of this kind. `see(*arguments)`: what the assertion saw."""
        how = "failed"
        if self._test is not None and site.key in self._filtered:
            who = self.catchers.who(kind, frame)
            if who is None:
                how = "filtered"
            else:
                self.gap("%s:%d is not filtered: %s" % (site.key[0], site.line, who))
        self.told(site, how, see, *arguments)
        return how == "failed"

    def told(self, site, how, see, *arguments):
        if self._test is not None and self.sheet is not None:
            self._tell(site, how, see, arguments)

    def _tell(self, site, how, see, arguments):
        sheet, number = self.sheet, site.number
        count = self._counts[number] = self._counts.get(number, 0) + 1
        self._all += 1
        if self._all > MOST or count > MOST_HELD and how == "held":
            self.gap("more assertions were evaluated than are told")
            return
        try:
            if number not in self._told:
                file = sheet.file(site.path)
                sheet.tell(["site", number, file, site.function, sheet.text(site.expression), site.ordinal, site.line])
                self._told.add(number)
            sheet.tell(["assert", number, how, see(*arguments)])
        except SURPRISES as error:
            self.gap("%s:%d cannot be told: %s" % (site.key[0], site.line, type(error).__name__))

    def seen(self, site, values):
        """Expressions of an assertion, with their values as texts."""
        text, truths, limited = self._text, site.truths, self.sheet.text
        return [
            [word, text.truth(value) if place in truths else limited(text(value))]
            for place, (word, value) in enumerate(zip(site.words(), values))
            if value is not UNSEEN
        ]

    def labelled(self, pairs):
        """Values under names that are not in the source."""
        return [[name, self.sheet.text(self._text(value))] for name, value in pairs]
