"""Records the values of variables and of attributes of `self` after each line of the project.

Only texts and addresses of values are kept, so no object lives longer because it was recorded. A
name is formatted again if it refers to another object, or if the line that ran mentions it, since
it may have changed the object in place.
"""

from ..common.introspect import instance_dict_getter
from ..common.value_text import ValueText

MAX_VALUES = 50_000
# A line is inspected a thousand times, or until it has recorded a hundred values.
INSPECTIONS, COST_OF_VALUE = 1000, 10
MAX_ATTRIBUTES = 100
FUNCTION_FLAG = 0x2
NO_VALUE = object()
# In place of a line: all names count as mentioned.
EVERYTHING = None
MUTABLE = list, dict, set


class FrameValues:
    """What is known of a call that is still running."""

    __slots__ = "place", "line", "names", "attributes"

    def __init__(self, place):
        self.place, self.line = place, EVERYTHING
        self.names, self.attributes = {}, {}  # Address and text of each value.


class VariableRecorder:
    def __init__(self):
        self._text = ValueText()
        self._frames, self._inspections, self._values_left = {}, {}, 0
        self._dict_getters = {}
        self._process = None

    def begin(self, process):
        self._process = process
        self._frames, self._inspections, self._values_left = {}, {}, MAX_VALUES

    def end(self):
        self._process, self._frames, self._dict_getters = None, {}, {}
        self._text.forget()

    def before(self, frame, stream):
        """A line is about to run: the line before it caused every difference."""
        known = self._frames.get(id(frame))
        if known is not None:
            self._inspect(frame, known, stream)

    def after(self, frame, place, line, stream):
        """The line at `place` was reached. `line`: what it mentions."""
        known = self._frames.get(id(frame))
        if known is None:
            known = self._frames[id(frame)] = FrameValues(place)
            self._inspect(frame, known, stream)  # The arguments.
        known.place, known.line = place, line

    def leave(self, frame, stream, value=NO_VALUE):
        known = self._frames.pop(id(frame), None)
        if known is None:
            return
        self._inspect(frame, known, stream)
        if value is not NO_VALUE and frame.f_code.co_flags & FUNCTION_FLAG:
            self._record(stream, known.place, "returns", self._text(value))

    def _inspect(self, frame, known, stream):
        place = known.place
        left = self._inspections.get(place, INSPECTIONS)
        if left <= 0 or self._values_left <= 0:
            # Changes from here on are attributed to no line, until a line is inspected again.
            known.names = None
            return
        self._inspections[place] = left - 1
        is_restart = known.names is None
        if is_restart:
            known.names, known.attributes = {}, {}
        names, code, line = frame.f_locals, frame.f_code, known.line
        if not code.co_flags & FUNCTION_FLAG and type(names) is not dict:
            return  # The body of a class whose metaclass provides the namespace.
        changed = self._changed(names.items(), known.names, line.names if line is not EVERYTHING else EVERYTHING, "")
        if code.co_argcount and code.co_varnames[0] == "self" and "self" in names:
            attributes = self._attributes(names["self"])
            if line is EVERYTHING:  # They have been recorded by the code that set them.
                known.attributes = {name: (id(value), None) for name, value in list(attributes)}
            else:
                changed += self._changed(attributes, known.attributes, line.self_attributes, "self.")
        if not is_restart:
            for name, text in changed:
                self._record(stream, place, name, text)

    def _changed(self, values, known, mentioned, prefix):
        changed = []
        for name, value in list(values):
            before = known.get(name)
            if before is not None and before[0] == id(value) and mentioned is not EVERYTHING and name not in mentioned:
                continue
            if type(name) is not str or name[:2] == "__" or name[:1] in "@." or name == "self":
                continue
            text = self._text(value)
            known[name] = id(value), text
            if before is None or before[1] != text and (before[1] or before[0] != id(value) or type(value) in MUTABLE):
                changed.append((prefix + name, text))
        return changed

    def _record(self, stream, place, name, text):
        left, process = self._inspections.get(place, INSPECTIONS), self._process
        # The attempt may end while a thread that it left behind is here.
        if left > 0 and self._values_left > 0 and process is not None:
            self._inspections[place] = left - COST_OF_VALUE
            self._values_left -= 1
            process.value(stream, stream.count(), place, name, text)

    def _attributes(self, instance):
        cls = type(instance)
        known = self._dict_getters.get(id(cls))
        if known is None:
            known = self._dict_getters[id(cls)] = instance_dict_getter(cls), cls
        names = known[0](instance) if known[0] is not None else None
        return names.items() if type(names) is dict and len(names) <= MAX_ATTRIBUTES else ()
