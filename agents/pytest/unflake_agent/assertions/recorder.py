"""Receives the result of every assertion, records it, and decides whether a failure counts.

Instrumented code calls `held`, `failed`, `raised` and `judged` with the id of a site, through names
in `builtins` that no source can contain. Nothing is locked: two threads may write a site twice, but
always before the first result that mentions it.
"""

import sys

from ..common.boundary import check, guarded
from ..common.value_text import READ_ERRORS
from .catchers import Catchers
from .operand_text import OperandText

# Results of one site in an attempt; failures are recorded beyond that.
MAX_HELD_PER_SITE = 1000
MAX_RESULTS = 20_000
LAYER = "assertion"
# The value of an operand that was not evaluated.
UNSEEN = type("Unseen", (), {"__slots__": ()})()


class AssertionRecorder:
    def __init__(self):
        self.sites = {}
        self.file = None
        self.catchers = Catchers()
        self._filters = {}
        self._text = OperandText()
        self._frame, self._exc_info = sys._getframe, sys.exc_info
        self._test = None
        self._filtered = frozenset()
        self._written, self._counts, self._results = set(), {}, 0
        self._gaps = []  # From before the first attempt.

    def add(self, site, name, version, position):
        """Registers a site under an id that cached code can contain.

        The id consists of the file's name, its version and the position in it. A file that is
        loaded twice has its sites once.
        """
        site.id = "%s#%s#%d" % (name, version, position)
        site.key, site.number = (name, site.function, site.expression, site.ordinal), len(self.sites)
        return self.sites.setdefault(site.id, site)

    def set_filter(self, wanted):
        filters = {}
        for one in wanted:
            key = one["file"], one["function"], one["expression"], one["ordinal"]
            filters.setdefault(one["test"], set()).add(key)
        self._filters = filters

    def begin(self, test):
        self._written, self._counts, self._results = set(), {}, 0
        self._filtered = self._filters.get(test, frozenset())
        self._test = test
        for text in self._gaps:
            self.gap(text)

    def end(self):
        self._test = None

    def gap(self, text):
        if self._test is None:
            self._gaps.append(text)
        elif self.file is not None:
            self.file.gap(LAYER, text)

    # -- Called by instrumented code ---------------------------------------------------------------

    def held(self, id, *values):
        try:
            if self._test is not None and self.file is not None:
                site = self.sites[id]
                self._write(site, "held", self.operands, (site, values))
        except Exception as error:
            check(error)
            raise

    def raised(self, id):
        """Evaluating the assertion raised an exception."""
        try:
            self.record(self.sites[id], "raised", self.labelled, [("exception", self._exc_info()[1])])
        except Exception as error:
            check(error)
            raise

    def failed(self, id, *values):
        """Whether the failure counts."""
        try:
            site = self.sites[id]
            return self.counts(site, AssertionError, self._frame(1), self.operands, site, values)
        except Exception as error:
            check(error)
            raise

    def judged(self, id, is_false):
        """Whether an assertion without known operands fails and that counts."""
        try:
            site = self.sites[id]
            if is_false:
                return self.counts(site, AssertionError, self._frame(1), self.operands, site, ())
            self.record(site, "held", self.operands, site, ())
            return False
        except Exception as error:
            check(error)
            raise

    # -- Called for all assertions -----------------------------------------------------------------

    @guarded
    def counts(self, site, exception, frame, describe, *arguments):
        """Records a failure that would leave `frame` as this exception. Whether it counts.

        `describe(*arguments)` returns the operands.
        """
        how = "failed"
        if self._test is not None and site.key in self._filtered:
            catcher = self.catchers.find(exception, frame)
            if catcher is None:
                how = "filtered"
            else:
                self.gap("%s:%d is not filtered: %s" % (site.key[0], site.line, catcher))
        self.record(site, how, describe, *arguments)
        return how == "failed"

    @guarded
    def record(self, site, how, describe, *arguments):
        if self._test is not None and self.file is not None:
            self._write(site, how, describe, arguments)

    def _write(self, site, how, describe, arguments):
        file, number = self.file, site.number
        count = self._counts[number] = self._counts.get(number, 0) + 1
        self._results += 1
        if self._results > MAX_RESULTS or count > MAX_HELD_PER_SITE and how == "held":
            self.gap("more assertions were evaluated than are recorded")
            return
        try:
            if number not in self._written:
                expression = file.truncate(site.expression)
                file.write(["site", number, file.file_number(site.path), site.function, expression, site.ordinal, site.line])
                self._written.add(number)
            file.write(["assert", number, how, describe(*arguments)])
        except READ_ERRORS as error:
            self.gap("%s:%d cannot be recorded: %s" % (site.key[0], site.line, type(error).__name__))

    def operands(self, site, values):
        """(expression, text) pairs of the operands that were evaluated."""
        text, truths, truncate = self._text, site.truths, self.file.truncate
        return [
            [label, text.truth(value) if position in truths else truncate(text(value))]
            for position, (label, value) in enumerate(zip(site.operand_labels(), values))
            if value is not UNSEEN
        ]

    def labelled(self, pairs):
        """The same for values under labels that are not in the source."""
        return [[label, self.file.truncate(self._text(value))] for label, value in pairs]
