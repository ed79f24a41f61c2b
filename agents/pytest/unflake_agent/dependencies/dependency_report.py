"""The answer: what facts are called, and their text. What many attempts share is named and written once. PYTEST_DONT_REWRITE"""

import json
import os
import sys

from ..common.paths import kind
from ..common.qualified_names import Qualified

FORMAT = 1
LISTS = "read", "written", "listed", "looked", "missed", "extensions"
OUTSIDE = "executed", "read", "written", "listed", "missed", "extensions"
MOST_VARIANTS = 64  # Of what the tests of one file depend on beyond what they share.
encode = json.JSONEncoder(separators=(",", ":")).encode


class Namer:
    """Names of files and directories as they are told, and whether they are told at all."""

    def __init__(self, names, project):
        self._names, self.project = names, project
        self.qualified = Qualified()
        self._files, self._matter = {}, {}
        self._above = os.path.dirname

    def of_file(self, file):
        """The names of a file of code. Code in an archive is the archive's; code without a file is nobody's."""
        names = self._files.get(file)
        if names is None:
            names = []
            if not file.startswith("<"):
                path = self._names.absolute(file)
                while path and path != "/" and kind(path) is None:
                    path = self._above(path)
                if path and kind(path) == "file":
                    names = self._names.of(path)
                elif file.startswith("/") and kind(file) is None:
                    names = [file]  # It is gone by now.
            self._files[file] = names
        return names

    def of_directory(self, place):
        path = self._names.absolute(place)
        return [] if path is None else self._names.of(path)[:1]

    def real(self, file):
        return self._names.of(self._names.absolute(file))[0]

    def matters(self, path):
        """Whether it is the project's, or anybody's who is not installed."""
        found = self._matter.get(path)
        if found is None:
            place = self.project.place
            if path.startswith("/"):
                found = place(path)[0] is not None or any(place(one)[0] for one in self.of_file(path))
            else:
                found = not path.startswith("<")
            self._matter[path] = found
        return found


class Told:
    """An answer by field. `plus` makes another one of it, which shares all that is the same, texts too."""

    def __init__(self, namer, by_function, facts):
        self._namer, self._by_function = namer, by_function
        self.facts = facts
        self._fields = {kind: set() for kind in LISTS + ("executed", "variables", "programs", "unknown")}
        self._outside = {kind: set() for kind in OUTSIDE}
        self._functions, self._texts = {}, {}
        self.written = None  # Where it is already, for attempts that depended on the same.
        self._variants = {}
        self._add(*self._name(facts))

    def plus(self, facts):
        """With what else is in these facts."""
        more = self._name({kind: values - self.facts[kind] for kind, values in facts.items()})
        if not any(more):
            return self
        key = tuple(frozenset((kind, frozenset(names)) for kind, names in part.items()) for part in more)
        new = self._variants.get(key)
        if new is None:
            new = object.__new__(Told)
            new._namer, new._by_function, new.written = self._namer, self._by_function, None
            new._fields, new._outside = dict(self._fields), dict(self._outside)
            new._functions, new._texts = dict(self._functions), dict(self._texts)
            new._add(*more)
            if len(self._variants) < MOST_VARIANTS:
                self._variants[key] = new
        return new

    def _name(self, facts):
        """Names of what is told and not there yet: of the project and of others, by kind; and functions by file."""
        place, fields, outside, functions = self._namer.project.place, {}, {}, {}
        for file in facts["files"]:
            for name in self._namer.of_file(file):
                where, shown = place(name)
                if where:
                    (fields if where == "project" else outside).setdefault("executed", set()).add(shown)
        for kind in LISTS:
            for name in facts[kind]:
                where, shown = place(name)
                if where == "project":
                    fields.setdefault(kind, set()).add(shown)
                elif where and kind in OUTSIDE:
                    outside.setdefault(kind, set()).add(shown)
        for kind in "variables", "programs", "unknown":
            fields[kind] = set(facts[kind])
        unknown = fields["unknown"]
        unknown.update("%s is native code of the project" % name for name in fields.get("extensions", ()))
        fields = {kind: {self._unicode(name, unknown) for name in names} for kind, names in fields.items()}
        outside = {kind: {self._unicode(name, set()) for name in names} for kind, names in outside.items()}
        fields["unknown"] |= unknown
        for file, line, name, qualified in facts["functions"] if self._by_function else ():
            for one in self._namer.of_file(file):
                where, shown = place(one)
                if where == "project":
                    functions.setdefault(shown, set()).add(qualified or self._namer.qualified(file, line, name))
        return _less(fields, self._fields), _less(outside, self._outside), _less(functions, self._functions)

    def _unicode(self, name, unknown):
        """A name that is no Unicode cannot be told as it is, and so could not be compared with any other."""
        if isinstance(name, str):
            try:
                name.encode("utf-8")
            except UnicodeEncodeError:
                name = name.encode("utf-8", "backslashreplace").decode()
                unknown.add("a name that is not Unicode: %s" % name)
        return name

    def _add(self, fields, outside, functions):
        for kind, names in fields.items():
            self._fields[kind] = self._fields[kind] | names
            self._texts.pop(kind, None)
        for kind, names in outside.items():
            self._outside[kind] = self._outside[kind] | names
            self._texts.pop("outside", None)
        for file, names in functions.items():
            self._functions[file] = self._functions.get(file, set()) | names
            self._texts.pop(("functions", file), None)
        if "executed" in fields:
            self._texts.pop("read", None)  # Which are others.
        if functions:
            self._texts.pop("executed", None)

    # -- Its text -----------------------------------------------------------------------------------------------------

    def text(self, after, searched, via):
        """As JSON. `searched` is JSON already; `via` has the line that led to a file first, for any file."""
        parts = ['"format":%d,"root":%s,"after":%d,"searched":%s' % (FORMAT, encode(self._namer.project.root), after, searched)]
        for kind in self._fields:
            parts.append(self._text(kind, self._field))
        parts.append(self._text("outside", self._outsides))
        parts.append('"via":%s' % encode({name: via[name] for name in sorted(self._fields["executed"]) if name in via}))
        return "{" + ",".join(parts) + "}"

    def _text(self, kind, make):
        text = self._texts.get(kind)
        if text is None:
            text = self._texts[kind] = '"%s":%s' % (kind, make(kind))
        return text

    def _field(self, kind):
        names = self._fields[kind]
        if kind == "executed" and self._by_function:
            return "{" + ",".join(self._functions_text(name) for name in sorted(names)) + "}"
        if kind == "programs":
            return encode([{"program": name, "followed": followed} for name, followed in sorted(names)])
        return encode(sorted(names - self._fields["executed"] if kind == "read" else names))

    def _functions_text(self, name):
        key = "functions", name
        text = self._texts.get(key)
        if text is None:
            text = self._texts[key] = "%s:%s" % (encode(name), encode(sorted(self._functions.get(name, ()))))
        return text

    def _outsides(self, _):
        return encode({kind: sorted(names) for kind, names in self._outside.items()})


def _less(names, known):
    """Those that are not known yet."""
    found = {kind: those - known.get(kind, frozenset()) for kind, those in names.items()}
    return {kind: those for kind, those in found.items() if those}


class Searched:
    """Where modules were looked for, by directory of the project, and their names. Of hundreds of modules few are new
    from one attempt to the next."""

    def __init__(self, namer):
        self._namer, self._modules = namer, sys.modules
        self._forget(())

    def _forget(self, path):
        self._path, self._done, self._packages, self._top = path, set(), {}, []
        self._found, self._texts, self._shown = {}, {}, {}

    def text(self, names, strangers=frozenset()):
        """As JSON. Modules of tests that are `strangers` were looked for by nobody but their own collection."""
        path = tuple(place for place in sys.path if isinstance(place, str))
        new = (names | self._modules.keys()) - self._done
        if path != self._path or (new and any(self._places(one) != places for one, places in self._packages.items())):
            self._forget(path)
            self._top = [one for place in path for one in self._ours(place or ".")]
            new = names | self._modules.keys()
        for name in new:
            self._search(name)
        if new:
            self._done |= new
            self._texts = {}
        if strangers not in self._texts:
            self._texts[strangers] = encode(
                {place: sorted(last for last, full in names.items() if not full <= strangers) for place, names in sorted(self._found.items())}
            )
        return self._texts[strangers]

    def _search(self, name):
        if not isinstance(name, str):
            return
        package, _, last = name.rpartition(".")
        try:
            last.encode("utf-8")
        except UnicodeEncodeError:
            last = last.encode("utf-8", "backslashreplace").decode()
        if not package:
            places = self._top
        else:
            if package not in self._packages:
                self._packages[package] = self._places(package)
            places = [one for place in self._packages[package] for one in self._ours(place)]
        for place in places:
            self._found.setdefault(place, {}).setdefault(last, set()).add(name)

    def _places(self, package):
        try:
            return [place for place in self._modules[package].__path__ if isinstance(place, str)]
        except Exception:
            return []

    def _ours(self, place):
        shown = self._shown.get(place)
        if shown is None:
            found = [self._namer.project.place(one) for one in self._namer.of_directory(place)]
            shown = self._shown[place] = [name for where, name in found if where == "project"]
        return shown
