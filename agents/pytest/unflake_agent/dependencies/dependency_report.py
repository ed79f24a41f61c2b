"""Turns facts into the JSON report of an attempt. What many attempts share is formatted once."""

import json
import os
import sys

from ..common.paths import path_kind
from ..common.qualified_names import QualifiedNames

FORMAT = 1
LISTS = "read", "configured", "written", "listed", "looked", "missed", "extensions"
OUTSIDE = "executed", "read", "written", "listed", "missed", "extensions"
HIDDEN = "earlier tests in its process may have hidden a dependency"
MAX_VARIANTS = 64  # Of the report that the tests of one file share.
encode = json.JSONEncoder(separators=(",", ":")).encode


class FileNamer:
    """The names under which files and directories are reported, and whether they are at all."""

    def __init__(self, names, project, installed=None):
        self._names, self.project, self.installed = names, project, installed
        self.qualified_name = QualifiedNames().find
        self._files, self._relevant = {}, {}
        self._dirname = os.path.dirname

    def of_file(self, file):
        """The names of a file of code. Code in an archive belongs to the archive."""
        names = self._files.get(file)
        if names is None:
            names = []
            if not file.startswith("<"):
                path = self._names.absolute(file)
                while path and path != "/" and path_kind(path) is None:
                    path = self._dirname(path)
                if path and path_kind(path) == "file":
                    names = self._names.of(path)
                elif file.startswith("/") and path_kind(file) is None:
                    names = [file]  # It has been removed.
            self._files[file] = names
        return names

    def of_directory(self, directory):
        path = self._names.absolute(directory)
        return [] if path is None else self._names.of(path)[:1]

    def real(self, file):
        return self._names.of(self._names.absolute(file))[0]

    def is_relevant(self, path):
        """Whether it is in the project, or outside and not installed."""
        found = self._relevant.get(path)
        if found is None:
            classify = self.project.classify
            if path.startswith("/"):
                found = classify(path)[0] is not None or any(classify(one)[0] for one in self.of_file(path))
            else:
                found = not path.startswith("<")
            self._relevant[path] = found
        return found


class DependencyReport:
    """A report by field. `plus` derives another one, which shares the text of equal fields."""

    def __init__(self, namer, by_function, facts):
        self._namer, self._by_function = namer, by_function
        self.facts = facts
        self._fields = {kind: set() for kind in LISTS + ("executed", "variables", "programs", "unknown")}
        self._outside = {kind: set() for kind in OUTSIDE}
        self._functions, self._texts = {}, {}
        self.written = None  # (path, searched) of a file that already contains this report.
        self._variants = {}
        self._add(*self._named(facts))

    def plus(self, facts):
        """This report with further facts."""
        more = self._named({kind: values - self.facts[kind] for kind, values in facts.items()})
        return self._variant(more) if any(more) else self

    def _variant(self, more):
        """This report with these fields, fields outside of the project, and functions."""
        key = tuple(frozenset((kind, frozenset(names)) for kind, names in part.items()) for part in more)
        new = self._variants.get(key)
        if new is None:
            new = object.__new__(DependencyReport)
            new._namer, new._by_function, new.written = self._namer, self._by_function, None
            new._fields, new._outside = dict(self._fields), dict(self._outside)
            new._functions, new._texts, new._variants = dict(self._functions), dict(self._texts), {}
            new._add(*more)
            if len(self._variants) < MAX_VARIANTS:
                self._variants[key] = new
        return new

    def _named(self, facts):
        """New names: by field, by field outside of the project, and functions by file."""
        classify, fields, outside, functions = self._namer.project.classify, {}, {}, {}
        for file in facts["files"]:
            for name in self._namer.of_file(file):
                where, shown = classify(name)
                if where:
                    (fields if where == "project" else outside).setdefault("executed", set()).add(shown)
        for kind in LISTS:
            for name in facts[kind]:
                where, shown = classify(name)
                if where == "project":
                    fields.setdefault(kind, set()).add(shown)
                elif where and kind in OUTSIDE:
                    outside.setdefault(kind, set()).add(shown)
        for kind in "variables", "programs", "unknown":
            fields[kind] = set(facts[kind])
        unknown = fields["unknown"]
        unknown.update("%s is native code of the project" % name for name in fields.get("extensions", ()))
        fields = {kind: {_unicode(name, unknown) for name in names} for kind, names in fields.items()}
        outside = {kind: {_unicode(name, set()) for name in names} for kind, names in outside.items()}
        fields["unknown"] |= unknown
        for file, line, name, qualified in facts["functions"] if self._by_function else ():
            for one in self._namer.of_file(file):
                where, shown = classify(one)
                if where == "project":
                    functions.setdefault(shown, set()).add(qualified or self._namer.qualified_name(file, line, name))
        return _minus(fields, self._fields), _minus(outside, self._outside), _minus(functions, self._functions)

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
            self._texts.pop("read", None)  # It excludes executed files.
        if functions:
            self._texts.pop("executed", None)

    def dependencies(self):
        """The names that a change can touch: by field, and functions by file."""
        return {kind: names for kind, names in self._fields.items() if kind != "variables"}, dict(self._functions)

    def including(self, fields, functions):
        """This report with further names."""
        return self._variant((_minus(fields, self._fields), {}, _minus(functions, self._functions)))

    # -- Text --------------------------------------------------------------------------------------

    def text(self, after, searched, via):
        """As JSON. `searched`: JSON already. `via`: by file, the line that imports it first."""
        parts = ['"format":%d,"root":%s,"after":%d,"searched":%s' % (FORMAT, encode(self._namer.project.root), after, searched)]
        if self._namer.installed is not None:
            parts.append('"installed":%s' % encode(self._namer.installed))
        for kind in self._fields:
            parts.append(self._cached_text(kind, self._field_text))
        parts.append(self._cached_text("outside", self._outside_text))
        parts.append('"via":%s' % encode({name: via[name] for name in sorted(self._fields["executed"]) if name in via}))
        return "{" + ",".join(parts) + "}"

    def _cached_text(self, kind, make):
        text = self._texts.get(kind)
        if text is None:
            text = self._texts[kind] = '"%s":%s' % (kind, make(kind))
        return text

    def _field_text(self, kind):
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

    def _outside_text(self, _):
        return encode({kind: sorted(names) for kind, names in self._outside.items()})


class EarlierAttempts:
    """The dependencies of the attempts that a process has made, taken together.

    An earlier attempt may have filled a cache, or made something else that a later one uses
    without running or reading again what it was made from. That hides nothing if the later one
    has all these dependencies anyway. Otherwise what is hidden is unknown. By function that would
    be nearly always, so there the later one gets all dependencies of the earlier ones.
    """

    def __init__(self, by_function):
        self._by_function, self._fields, self._functions = by_function, {}, {}
        self._latest = None, None

    def add(self, report):
        """The report, with what earlier attempts may have hidden."""
        latest, shown = self._latest
        if report is latest:
            return shown
        fields, functions = report.dependencies()
        if _covers(fields, self._fields) and _covers(functions, self._functions):
            self._fields, self._functions, shown = fields, functions, report
        else:
            hidden = self._fields, self._functions
            shown = report.including(*hidden if self._by_function else ({"unknown": {HIDDEN}}, {}))
            self._fields, self._functions = _joined(self._fields, fields), _joined(self._functions, functions)
        self._latest = report, shown
        return shown

    def add_failed(self, why):
        """The dependencies of an attempt could not be recorded."""
        self._fields = _joined(self._fields, {"unknown": {why}})
        self._latest = None, None


def _covers(names, others):
    nothing = frozenset()
    return all(found is names.get(kind) or found <= names.get(kind, nothing) for kind, found in others.items())


def _joined(names, others):
    nothing = frozenset()
    return {kind: names.get(kind, nothing) | others.get(kind, nothing) for kind in {**names, **others}}


def _unicode(name, unknown):
    """Escapes a name that is not valid Unicode: it cannot be compared with other names."""
    if isinstance(name, str):
        try:
            name.encode("utf-8")
        except UnicodeEncodeError:
            name = name.encode("utf-8", "backslashreplace").decode()
            unknown.add("a name that is not Unicode: %s" % name)
    return name


def _minus(names, known):
    found = {kind: values - known.get(kind, frozenset()) for kind, values in names.items()}
    return {kind: values for kind, values in found.items() if values}


class SearchedModules:
    """The names of modules that were searched for, by directory of the project.

    From one attempt to the next few of hundreds of names are new, so results are cached.
    """

    def __init__(self, namer):
        self._namer, self._modules = namer, sys.modules
        self._reset(())

    def _reset(self, path):
        self._path, self._done, self._packages, self._top = path, set(), {}, []
        self._found, self._texts, self._project_directories = {}, {}, {}

    def text(self, names, foreign_tests=frozenset()):
        """As JSON. `foreign_tests`: test modules that only their own collection searched for."""
        path = tuple(entry for entry in sys.path if isinstance(entry, str))
        new = (names | self._modules.keys()) - self._done
        if path != self._path or (new and any(self._package_path(one) != old for one, old in self._packages.items())):
            self._reset(path)
            self._top = [one for entry in path for one in self._in_project(entry or ".")]
            new = names | self._modules.keys()
        for name in new:
            self._add(name)
        if new:
            self._done |= new
            self._texts = {}
        if foreign_tests not in self._texts:
            self._texts[foreign_tests] = encode(
                {
                    directory: sorted(last for last, full in names.items() if not full <= foreign_tests)
                    for directory, names in sorted(self._found.items())
                }
            )
        return self._texts[foreign_tests]

    def _add(self, name):
        if not isinstance(name, str):
            return
        package, _, last = name.rpartition(".")
        last = _unicode(last, set())
        if not package:
            directories = self._top
        else:
            if package not in self._packages:
                self._packages[package] = self._package_path(package)
            directories = [one for entry in self._packages[package] for one in self._in_project(entry)]
        for directory in directories:
            self._found.setdefault(directory, {}).setdefault(last, set()).add(name)

    def _package_path(self, package):
        try:
            return [entry for entry in self._modules[package].__path__ if isinstance(entry, str)]
        except Exception:
            return []

    def _in_project(self, directory):
        shown = self._project_directories.get(directory)
        if shown is None:
            found = [self._namer.project.classify(one) for one in self._namer.of_directory(directory)]
            shown = self._project_directories[directory] = [name for where, name in found if where == "project"]
        return shown
