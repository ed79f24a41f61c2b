"""Assertions that are calls: unittest's methods, `pytest.raises` and its like, mocks, numpy and pandas. PYTEST_DONT_REWRITE

They are replaced where they are looked up, before the project does so. Which assertion of the project a call is follows from where
the nearest frame of the project is: in code that knows columns (3.11 on) exactly, before that by its line. A call that another of these makes
is a part of that one.
"""

import functools
import itertools
import os
import sys
import types

import pytest

from ..common.after_import import after_import
from .recorder import UNSEEN

__unittest = True  # pytest leaves such frames out of what it shows of a failure.

LIBRARIES = frozenset(("unittest", "_pytest", "pytest", "numpy", "pandas"))
OF_PYTEST = "raises", "warns", "deprecated_call", "fail"
MODULES = "numpy.testing", "pandas._testing", "pandas.testing"
# Those that may be given what is to raise.
WAITING_FOR_EXCEPTIONS = "raises", "assertRaises", "assertRaisesRegex", "assert_raises", "assert_raises_regex"
OF_MOCKS = "_mock_call_count", "_mock_call_args"
NOT_KNOWN = object()
SITE, WAITING = "_unflake_site", "_unflake_waiting"


class Calls:
    def __init__(self, own, table, recorder):
        self._own, self._table, self._recorder = own, table, recorder
        self._frame = sys._getframe
        self._places = {}  # By the address of code: the code, and by instruction which assertion it is.
        self._followed = set()
        self._failures = AssertionError, pytest.fail.Exception

    def install(self):
        for name in OF_PYTEST:
            setattr(pytest, name, self._watched(getattr(pytest, name)))
        after_import("unittest.case", lambda module: self._methods(module.TestCase, skip_first=True))
        after_import("unittest.mock", self._mocks)
        for name in MODULES:
            after_import(name, self._functions)

    def _functions(self, module):
        for name, value in list(vars(module).items()):
            if name.startswith("assert_") and type(value) is types.FunctionType and not hasattr(value, SITE):
                setattr(module, name, self._watched(value))

    def _mocks(self, module):
        for kind in (module.NonCallableMock, getattr(module, "AsyncMockMixin", None)):
            if kind is not None:
                self._methods(kind, skip_first=True, mock=True)

    def _methods(self, kind, **how):
        for name, value in list(vars(kind).items()):
            if (name.startswith("assert") or name == "fail") and type(value) is types.FunctionType:
                setattr(kind, name, self._watched(value, **how))

    # -- A call -------------------------------------------------------------------------------------------------------

    def _watched(self, original, skip_first=False, mock=False):
        first, recorder = int(skip_first), self._recorder
        waits = getattr(original, "__name__", "") in WAITING_FOR_EXCEPTIONS

        @functools.wraps(original)
        def checked(*args, **kwargs):
            __tracebackhide__ = True
            frame = self._frame(1)
            site = self._site(frame)
            if site is None:
                return original(*args, **kwargs)
            waiting = recorder.catchers.expect(args[first]) if waits and len(args) > first + 1 else None
            try:
                result = original(*args, **kwargs)
            except BaseException as error:
                if self._is_own(error, args):
                    if recorder.counts(site, type(error), frame, self._seen, site, args, kwargs, first, mock):
                        raise
                    return None
                recorder.told(site, "raised", recorder.labelled, [("exception", error)])
                raise
            finally:
                recorder.catchers.forget(waiting)
            if hasattr(type(result), "__exit__"):
                self._follow(result, site)
            elif waits:
                error = getattr(result, "value", None)  # pytest gives what it caught.
                recorder.told(site, "held", recorder.labelled, [("exception", error)] if error is not None else [])
            else:
                recorder.told(site, "held", self._seen, site, args, kwargs, first, mock)
            return result

        if hasattr(original, "Exception"):
            checked.Exception = original.Exception
        setattr(checked, SITE, True)
        return checked

    def _is_own(self, error, args):
        """Whether a call failed as an assertion does, and not because of what the project did in it."""
        failure = getattr(type(args[0]), "failureException", None) if args else None
        if not isinstance(error, self._failures) and not (isinstance(failure, type) and isinstance(error, failure)):
            return False
        step = error.__traceback__.tb_next
        while step is not None:
            if self._own.file(step.tb_frame.f_code.co_filename) is not None:
                return False
            step = step.tb_next
        return True

    def _seen(self, site, args, kwargs, first, mock):
        values = []
        for which in site.picks:
            if type(which) is str:
                values.append(kwargs.get(which, UNSEEN))
            else:
                values.append(args[first + which] if first + which < len(args) else UNSEEN)
        seen = self._recorder.seen(site, values)
        if mock:
            fields = object.__getattribute__(args[0], "__dict__")
            seen += self._recorder.labelled([(name[6:], fields[name]) for name in OF_MOCKS if name in fields])
        return seen

    # -- Which assertion it is ------------------------------------------------------------------------------------------

    def _site(self, frame):
        while frame is not None:
            code = frame.f_code
            known = self._places.get(id(code))
            if known is None:
                path = self._own.file(code.co_filename)
                name = frame.f_globals.get("__name__")
                is_library = type(name) is str and name.split(".")[0] in LIBRARIES
                known = self._places[id(code)] = code, path, is_library, {}
            _, path, is_library, places = known
            if path is not None:
                site = places.get(frame.f_lasti, NOT_KNOWN)
                if site is NOT_KNOWN:
                    site = places[frame.f_lasti] = self._find(frame, path)
                return site
            if is_library:
                return None
            frame = frame.f_back
        return None

    def _find(self, frame, path):
        found = self._table(path).at(frame.f_lineno, _end(frame.f_code, frame.f_lasti))
        if len(found) == 1:
            return found[0]
        why = "two assertions in one line cannot be told apart" if found else "an assertion under another name is not told"
        self._recorder.gap("%s:%d: %s" % (os.path.basename(path), frame.f_lineno, why))
        return None

    # -- `with` -----------------------------------------------------------------------------------------------------------

    def _follow(self, context, site):
        kind = type(context)
        if kind.__module__.split(".")[0] not in ("unittest", "_pytest"):
            self._recorder.gap("%s:%d: what %s sees is not told" % (site.key[0], site.line, kind.__name__))
            return
        if kind not in self._followed:
            self._followed.add(kind)
            self._watch_context(kind)
        vars(context)[SITE] = site

    def _watch_context(self, kind):
        enter, leave, recorder = kind.__enter__, kind.__exit__, self._recorder

        @functools.wraps(enter)
        def __enter__(context):
            __tracebackhide__ = True
            result = enter(context)
            if SITE in vars(context):
                vars(context)[WAITING] = recorder.catchers.expect(_waited_for(context))
            return result

        @functools.wraps(leave)
        def __exit__(context, *error):
            __tracebackhide__ = True
            recorder.catchers.forget(vars(context).pop(WAITING, None))
            site = vars(context).get(SITE)
            if site is None:
                return leave(context, *error)
            pairs = [("exception", error[1])] if error and error[1] is not None else []
            try:
                result = leave(context, *error)
            except BaseException as failure:
                if not self._is_own(failure, ()):
                    recorder.told(site, "raised", recorder.labelled, pairs)
                    raise
                if recorder.counts(site, type(failure), self._frame(1), recorder.labelled, pairs):
                    raise
                return True
            recorder.told(site, "raised" if pairs and not result else "held", recorder.labelled, pairs)
            return result

        kind.__enter__, kind.__exit__ = __enter__, __exit__


def _waited_for(context):
    for name in ("expected_exceptions", "expected_exception", "expected"):
        kinds = getattr(context, name, None)
        if isinstance(kinds, (type, tuple)):
            return kinds
    return ()


def _end(code, instruction):
    """Where in the source the call ends that an instruction makes. Its beginning is not always told: in a chain of calls it is that of the last name."""
    if hasattr(code, "co_positions"):
        for _, line, _, column in itertools.islice(code.co_positions(), instruction // 2, None):
            return line, column
    return None
