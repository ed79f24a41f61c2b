"""The answer: what facts are called, and their text. What many attempts share is named and written once. PYTEST_DONT_REWRITE"""

import json
import os
import sys

from .qualified import Qualified

FORMAT = 1
LISTS = "read", "written", "listed", "looked", "missed", "extensions"
OUTSIDE = "executed", "read", "written", "listed", "missed", "extensions"
encode = json.JSONEncoder(separators=(",", ":")).encode


class Namer:
    """Names of files and directories as they are told, and whether they are told at all."""

    def __init__(self, names, project):
        self._names, self.project = names, project
        self.qualified = Qualified()
        self._files, self._matter = {}, {}
        self._exists, self._isfile, self._above = os.path.exists, os.path.isfile, os.path.dirname

    def of_file(self, file):
        """The names of a file of code. Code in an archive is the archive's; code without a file is nobody's."""
        names = self._files.get(file)
        if names is None:
            names = []
            if not file.startswith("<"):
                path = self._names.absolute(file)
                while path and path != "/" and not self._exists(path):
                    path = self._above(path)
                if path and self._isfile(path):
                    names = self._names.of(path)
                elif file.startswith("/") and not self._exists(file):
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
        self.written = None  # Where it is already, for attempts that add nothing.
        self._add(facts)

    def plus(self, facts):
        """With what else is in these facts."""
        more = {kind: values - self.facts[kind] for kind, values in facts.items()}
        if not any(more.values()):
            return self
        new = object.__new__(Told)
        new._namer, new._by_function, new.written = self._namer, self._by_function, None
        new._fields, new._outside = dict(self._fields), dict(self._outside)
        new._functions, new._texts = dict(self._functions), dict(self._texts)
        new._add(more)
        return new

    def _add(self, facts):
        place, fields, outside = self._namer.project.place, {}, {}
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
            if facts[kind]:
                fields[kind] = set(facts[kind])
        if "extensions" in fields:
            unknown = fields.setdefault("unknown", set())
            unknown.update("%s is native code of the project" % name for name in fields["extensions"])
        self._merge(fields, outside)
        if self._by_function:
            self._add_functions(facts["functions"])

    def _merge(self, fields, outside):
        for kind, names in list(fields.items()):
            if kind != "programs":
                fields[kind] = {self._unicode(name, fields) for name in names}
        for kind, names in fields.items():
            if not names <= self._fields[kind]:
                self._fields[kind] = self._fields[kind] | names
                self._texts.pop(kind, None)
                if kind == "executed":
                    self._texts.pop("read", None)
        for kind, names in outside.items():
            self._outside[kind] = self._outside[kind] | {self._unicode(name, {}) for name in names}
            self._texts.pop("outside", None)

    def _unicode(self, name, fields):
        """A name that is no Unicode cannot be told as it is, and so could not be compared with any other."""
        try:
            name.encode("utf-8")
        except UnicodeEncodeError:
            name = name.encode("utf-8", "backslashreplace").decode()
            if fields:
                self._fields["unknown"] = self._fields["unknown"] | {"a name that is not Unicode: %s" % name}
                self._texts.pop("unknown", None)
        return name

    def _add_functions(self, functions):
        place, found = self._namer.project.place, {}
        for file, line, name, qualified in functions:
            for one in self._namer.of_file(file):
                where, shown = place(one)
                if where == "project" and shown in self._fields["executed"]:
                    found.setdefault(shown, set()).add(qualified or self._namer.qualified(file, line, name))
        for name, ran in found.items():
            if not ran <= self._functions.get(name, set()):
                self._functions[name] = self._functions.get(name, set()) | ran
                self._texts.pop("executed", None)
                self._texts.pop(("functions", name), None)

    # -- Its text -----------------------------------------------------------------------------------------------------

    def text(self, after, searched):
        """As JSON. `searched` is JSON already."""
        parts = ['"format":%d,"root":%s,"after":%d,"searched":%s' % (FORMAT, encode(self._namer.project.root), after, searched)]
        for kind in self._fields:
            parts.append(self._text(kind, self._field))
        parts.append(self._text("outside", self._outsides))
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


class Searched:
    """Where modules were looked for, by directory of the project, and their names. Of hundreds of modules few are new
    from one attempt to the next."""

    def __init__(self, namer):
        self._namer, self._modules = namer, sys.modules
        self._forget(())

    def _forget(self, path):
        self._path, self._done, self._packages, self._top = path, set(), {}, []
        self._found, self._text, self._shown = {}, None, {}

    def text(self, names):
        """As JSON."""
        path = tuple(place for place in sys.path if isinstance(place, str))
        new = (names | self._modules.keys()) - self._done
        if path != self._path or (new and any(self._places(one) != places for one, places in self._packages.items())):
            self._forget(path)
            self._top = [one for place in path for one in self._ours(place or ".")]
            new = names | self._modules.keys()
        for name in new:
            self._search(name)
        if self._text is None or new:
            self._done |= new
            self._text = encode({place: sorted(names) for place, names in sorted(self._found.items())})
        return self._text

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
            self._found.setdefault(place, set()).add(last)

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
