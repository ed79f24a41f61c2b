"""Instruments assertions that are calls: of unittest, pytest, mocks, NumPy and pandas.

The functions are replaced where they are defined, before the project looks them up. The position of
the nearest frame of the project says which assertion a call is: exactly where code knows columns
(Python 3.11 on), before that by line. A call made inside another of these functions is part of it.
"""

import functools
import itertools
import os
import sys
import types

import pytest

from ..common.after_import import after_import
from ..common.boundary import guarded
from .recorder import UNSEEN

__unittest = True  # pytest hides frames of such modules in tracebacks.

LIBRARIES = frozenset(("unittest", "_pytest", "pytest", "numpy", "pandas"))
PYTEST_FUNCTIONS = "raises", "warns", "deprecated_call", "fail"
MODULES = "numpy.testing", "pandas._testing", "pandas.testing"
# Functions that may be given a callable which is expected to raise.
EXPECTING_EXCEPTIONS = "raises", "assertRaises", "assertRaisesRegex", "assert_raises", "assert_raises_regex"
MOCK_FIELDS = "_mock_call_count", "_mock_call_args"
UNKNOWN = object()
SITE, EXPECTED = "_unflake_site", "_unflake_waiting"


class AssertionCalls:
    def __init__(self, project, table, recorder):
        self._project, self._table, self._recorder = project, table, recorder
        self._frame = sys._getframe
        self._codes = {}  # By the id of code: the code, its file, and its sites by instruction.
        self._wrapped_contexts = set()
        self._failures = AssertionError, pytest.fail.Exception

    def install(self):
        for name in PYTEST_FUNCTIONS:
            setattr(pytest, name, self._wrap(getattr(pytest, name)))
        after_import("unittest.case", lambda module: self._wrap_methods(module.TestCase))
        after_import("unittest.mock", self._wrap_mocks)
        for name in MODULES:
            after_import(name, self._wrap_functions)

    def _wrap_functions(self, module):
        for name, value in list(vars(module).items()):
            if name.startswith("assert_") and type(value) is types.FunctionType and not hasattr(value, SITE):
                setattr(module, name, self._wrap(value))

    def _wrap_mocks(self, module):
        for cls in (module.NonCallableMock, getattr(module, "AsyncMockMixin", None)):
            if cls is not None:
                self._wrap_methods(cls, is_mock=True)

    def _wrap_methods(self, cls, is_mock=False):
        for name, value in list(vars(cls).items()):
            if (name.startswith("assert") or name == "fail") and type(value) is types.FunctionType:
                setattr(cls, name, self._wrap(value, 1, is_mock))

    # -- Calls -------------------------------------------------------------------------------------

    def _wrap(self, original, first=0, is_mock=False):
        """`first`: the position of the first argument, after `self`."""
        recorder = self._recorder
        expects = getattr(original, "__name__", "") in EXPECTING_EXCEPTIONS

        @functools.wraps(original)
        def wrapper(*args, **kwargs):
            __tracebackhide__ = True
            frame = self._frame(1)
            site = self._site(frame)
            if site is None:
                return original(*args, **kwargs)
            expected = recorder.catchers.expect(args[first]) if expects and len(args) > first + 1 else None
            try:
                result = original(*args, **kwargs)
            except BaseException as error:
                if self._is_assertion_failure(error, args):
                    if recorder.counts(site, type(error), frame, self._operands, site, args, kwargs, first, is_mock):
                        raise
                    return None
                recorder.record(site, "raised", recorder.labelled, [("exception", error)])
                raise
            finally:
                recorder.catchers.forget(expected)
            if hasattr(type(result), "__exit__"):
                self._follow(result, site)
            elif expects:
                error = getattr(result, "value", None)  # pytest returns what it caught.
                recorder.record(site, "held", recorder.labelled, [("exception", error)] if error is not None else [])
            else:
                recorder.record(site, "held", self._operands, site, args, kwargs, first, is_mock)
            return result

        if hasattr(original, "Exception"):
            wrapper.Exception = original.Exception
        setattr(wrapper, SITE, True)
        return wrapper

    @guarded
    def _is_assertion_failure(self, error, args):
        """Whether the assertion itself failed, and not code of the project that it called."""
        failure = getattr(type(args[0]), "failureException", None) if args else None
        if not isinstance(error, self._failures) and not (isinstance(failure, type) and isinstance(error, failure)):
            return False
        step = error.__traceback__.tb_next
        while step is not None:
            if self._project.file(step.tb_frame.f_code.co_filename) is not None:
                return False
            step = step.tb_next
        return True

    @guarded
    def _operands(self, site, args, kwargs, first, is_mock):
        values = []
        for argument in site.arguments:
            if type(argument) is str:
                values.append(kwargs.get(argument, UNSEEN))
            else:
                values.append(args[first + argument] if first + argument < len(args) else UNSEEN)
        operands = self._recorder.operands(site, values)
        if is_mock:
            fields = object.__getattribute__(args[0], "__dict__")
            operands += self._recorder.labelled([(name[6:], fields[name]) for name in MOCK_FIELDS if name in fields])
        return operands

    # -- Sites -------------------------------------------------------------------------------------

    @guarded
    def _site(self, frame):
        while frame is not None:
            code = frame.f_code
            known = self._codes.get(id(code))
            if known is None:
                path = self._project.file(code.co_filename)
                name = frame.f_globals.get("__name__")
                is_library = type(name) is str and name.split(".")[0] in LIBRARIES
                known = self._codes[id(code)] = code, path, is_library, {}
            _, path, is_library, sites = known
            if path is not None:
                site = sites.get(frame.f_lasti, UNKNOWN)
                if site is UNKNOWN:
                    site = sites[frame.f_lasti] = self._find(frame, path)
                return site
            if is_library:
                return None
            frame = frame.f_back
        return None

    def _find(self, frame, path):
        found = self._table(path).at(frame.f_lineno, _end_of_call(frame.f_code, frame.f_lasti))
        if len(found) == 1:
            return found[0]
        why = "two assertions in one line cannot be distinguished" if found else "an aliased assertion is not recorded"
        self._recorder.gap("%s:%d: %s" % (os.path.basename(path), frame.f_lineno, why))
        return None

    # -- Context managers --------------------------------------------------------------------------

    @guarded
    def _follow(self, context, site):
        cls = type(context)
        if cls.__module__.split(".")[0] not in ("unittest", "_pytest"):
            self._recorder.gap("%s:%d: assertions of %s are not recorded" % (site.key[0], site.line, cls.__name__))
            return
        if cls not in self._wrapped_contexts:
            self._wrapped_contexts.add(cls)
            self._wrap_context(cls)
        vars(context)[SITE] = site

    def _wrap_context(self, cls):
        enter, leave, recorder = cls.__enter__, cls.__exit__, self._recorder

        @functools.wraps(enter)
        def __enter__(context):
            __tracebackhide__ = True
            result = enter(context)
            if SITE in vars(context):
                vars(context)[EXPECTED] = recorder.catchers.expect(_expected_exceptions(context))
            return result

        @functools.wraps(leave)
        def __exit__(context, *error):
            __tracebackhide__ = True
            recorder.catchers.forget(vars(context).pop(EXPECTED, None))
            site = vars(context).get(SITE)
            if site is None:
                return leave(context, *error)
            pairs = [("exception", error[1])] if error and error[1] is not None else []
            try:
                result = leave(context, *error)
            except BaseException as failure:
                if not self._is_assertion_failure(failure, ()):
                    recorder.record(site, "raised", recorder.labelled, pairs)
                    raise
                if recorder.counts(site, type(failure), self._frame(1), recorder.labelled, pairs):
                    raise
                return True
            recorder.record(site, "raised" if pairs and not result else "held", recorder.labelled, pairs)
            return result

        cls.__enter__, cls.__exit__ = __enter__, __exit__


@guarded
def _expected_exceptions(context):
    for name in ("expected_exceptions", "expected_exception", "expected"):
        kinds = getattr(context, name, None)
        if isinstance(kinds, (type, tuple)):
            return kinds
    return ()


def _end_of_call(code, instruction):
    """Line and column where the call of an instruction ends.

    Its start is not reliable: in a chain of calls it is the start of the last name.
    """
    if hasattr(code, "co_positions"):
        for _, line, _, column in itertools.islice(code.co_positions(), instruction // 2, None):
            return line, column
    return None
