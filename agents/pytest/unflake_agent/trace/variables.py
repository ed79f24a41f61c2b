"""What names stand for after each line of the project's. PYTEST_DONT_REWRITE

Of a value only its text and its address are kept, so that nothing lives longer because it is looked at. A name is looked at again if it
stands for another object, or if the line that has run mentions it: it may have changed what is there.
"""

from ..common.introspect import dictionary
from ..common.value_text import Texts

MOST_RECORDS = 50_000
# Each line is looked at a thousand times, or until it has told a hundred values.
VISITS, RECORD = 1000, 10
# Of one object.
MOST_ATTRIBUTES = 100
OF_FUNCTION = 0x2
NOTHING = object()
EVERYTHING = None
MUTABLE = list, dict, set


class Frame:
    """What is known of a call that is going on."""

    __slots__ = "place", "line", "names", "own"

    def __init__(self, place):
        self.place, self.line = place, EVERYTHING
        self.names, self.own = {}, {}  # Of variables and of attributes of `self`: address and text.


class Values:
    def __init__(self):
        self._text = Texts()
        self._frames, self._visits, self._records = {}, {}, 0
        self._dictionaries = {}
        self._part = None

    def begin(self, part):
        self._part = part
        self._frames, self._visits, self._records = {}, {}, MOST_RECORDS

    def end(self):
        self._part, self._frames, self._dictionaries = None, {}, {}
        self._text.forget()

    def before(self, frame, stream):
        """A line is about to run: whatever is other than before was done by the line before it."""
        known = self._frames.get(id(frame))
        if known is not None:
            self._look(frame, known, stream)

    def after(self, frame, place, line, stream):
        """The line at `place` was come to; `line` says what it mentions."""
        known = self._frames.get(id(frame))
        if known is None:
            known = self._frames[id(frame)] = Frame(place)
            self._look(frame, known, stream)  # The arguments.
        known.place, known.line = place, line

    def leave(self, frame, stream, value=NOTHING):
        known = self._frames.pop(id(frame), None)
        if known is None:
            return
        self._look(frame, known, stream)
        if value is not NOTHING and frame.f_code.co_flags & OF_FUNCTION:
            self._tell(stream, known.place, "returns", self._text(value))

    def _look(self, frame, known, stream):
        place = known.place
        visits = self._visits.get(place, VISITS)
        if visits <= 0 or self._records <= 0:
            # Not looked at any more; what changes meanwhile is nobody's, until a line is looked at again.
            known.names = None
            return
        self._visits[place] = visits - 1
        afresh = known.names is None
        if afresh:
            known.names, known.own = {}, {}
        names, code, line = frame.f_locals, frame.f_code, known.line
        if not code.co_flags & OF_FUNCTION and type(names) is not dict:
            return  # The body of a class whose metaclass has its own idea of a namespace.
        told = self._differing(names.items(), known.names, line.names if line is not EVERYTHING else EVERYTHING, "")
        if code.co_argcount and code.co_varnames[0] == "self" and "self" in names:
            attributes = self._attributes(names["self"])
            if line is EVERYTHING:  # Others have told what is there already.
                known.own = {name: (id(value), None) for name, value in list(attributes)}
            else:
                told += self._differing(attributes, known.own, line.own, "self.")
        if not afresh:
            for name, text in told:
                self._tell(stream, place, name, text)

    def _differing(self, values, known, mentioned, prefix):
        told = []
        for name, value in list(values):
            before = known.get(name)
            if before is not None and before[0] == id(value) and mentioned is not EVERYTHING and name not in mentioned:
                continue
            if type(name) is not str or name[:2] == "__" or name[:1] in "@." or name == "self":
                continue
            text = self._text(value)
            known[name] = id(value), text
            if before is None or before[1] != text and (before[1] or before[0] != id(value) or type(value) in MUTABLE):
                told.append((prefix + name, text))
        return told

    def _tell(self, stream, place, name, text):
        visits = self._visits.get(place, VISITS)
        if visits > 0 and self._records > 0:
            self._visits[place] = visits - RECORD
            self._records -= 1
            self._part.value(stream, stream.position(), place, name, text)

    def _attributes(self, owner):
        """What an instance has by itself."""
        kind = type(owner)
        known = self._dictionaries.get(id(kind))
        if known is None:
            known = self._dictionaries[id(kind)] = dictionary(kind), kind
        names = known[0](owner) if known[0] is not None else None
        return names.items() if type(names) is dict and len(names) <= MOST_ATTRIBUTES else ()
