"""What names stand for after each line of the project's. PYTEST_DONT_REWRITE

A value of a type that has no parts is kept and compared by identity. Of others only the text is kept, so that nothing
lives longer because it is looked at, and a list that grows is seen to grow.
"""

from .texts import ATOM_IDS, class_body, class_mro
from .trace_text import Texts

MOST_RECORDS = 50_000
# Each line is looked at a thousand times, or until it has told a hundred values.
VISITS, RECORD = 1000, 10
OF_FUNCTION = 0x2
NOTHING = object()


class Frame:
    """What is known of a call that is going on."""

    __slots__ = "place", "atoms", "texts"

    def __init__(self, place):
        self.place, self.atoms, self.texts = place, {}, {}


class Values:
    def __init__(self):
        self._text = Texts()
        self._frames, self._visits, self._records = {}, {}, 0
        self._part = None

    def begin(self, part):
        self._part = part
        self._frames, self._visits, self._records = {}, {}, MOST_RECORDS

    def end(self):
        self._part, self._frames = None, {}
        self._text.forget()

    def before(self, frame, stream):
        """A line is about to run: whatever is other than before was done by the line before it."""
        known = self._frames.get(id(frame))
        if known is not None:
            self._look(frame, known, stream)

    def after(self, frame, place, stream):
        """The line at `place` was come to."""
        known = self._frames.get(id(frame))
        if known is None:
            known = self._frames[id(frame)] = Frame(place)
            self._look(frame, known, stream)  # The arguments.
        known.place = place

    def pause(self, frame, stream):
        """A generator gives something out, or a coroutine waits."""
        self.before(frame, stream)

    def leave(self, frame, stream, value=NOTHING):
        known = self._frames.pop(id(frame), None)
        if known is None:
            return
        self._look(frame, known, stream)
        if value is not NOTHING and self._may(known.place) and frame.f_code.co_flags & OF_FUNCTION:
            self._tell(stream, known.place, "returns", self._text(value))

    def _may(self, place):
        return self._visits.get(place, VISITS) > 0 and self._records > 0

    def _look(self, frame, known, stream):
        place = known.place
        visits = self._visits.get(place, VISITS)
        if visits <= 0 or self._records <= 0:
            # Not looked at any more; what changes meanwhile is nobody's, until a line is looked at again.
            known.atoms = None
            return
        self._visits[place] = visits - 1
        afresh = known.atoms is None
        if afresh:
            known.atoms, known.texts = {}, {}
        names = frame.f_locals
        code = frame.f_code
        if not code.co_flags & OF_FUNCTION and type(names) is not dict:
            return  # The body of a class whose metaclass has its own idea of a namespace.
        seen = list(names.items())
        if code.co_argcount and code.co_varnames[0] == "self" and "self" in names:
            seen += _attributes(names["self"])
        atoms, texts, told = known.atoms, known.texts, []
        for name, value in seen:
            if id(type(value)) in ATOM_IDS:
                if atoms.get(name, NOTHING) is value:
                    continue
                atoms[name] = value
            elif name in atoms:
                del atoms[name]
            if name[0] in "_@." and (name[:2] == "__" or name[0] != "_"):
                continue
            text = self._text(value)
            if texts.get(name) != text:
                texts[name] = text
                told.append((name, text))
        if len(atoms) + len(texts) > 2 * len(seen):
            self._forget_gone(known, {name for name, _ in seen})
        if not afresh:
            for name, text in told:
                self._tell(stream, place, name, text)

    @staticmethod
    def _forget_gone(known, there):
        for names in (known.atoms, known.texts):
            for name in [name for name in names if name not in there]:
                del names[name]

    def _tell(self, stream, place, name, text):
        visits = self._visits.get(place, VISITS)
        if visits > 0 and self._records > 0:
            self._visits[place] = visits - RECORD
            self._records -= 1
            self._part.value(stream, stream.position(), place, name, text)


def _attributes(owner):
    """What an instance has by itself."""
    for kind in class_mro(type(owner)):
        found = class_body(kind).get("__dict__")
        if found is not None and kind is not type:
            names = found.__get__(owner) if hasattr(type(found), "__get__") else None
            if type(names) is dict:
                return [("self." + name, value) for name, value in list(names.items()) if type(name) is str]
            break
    return []
