"""Qualified names of functions for Pythons before 3.11, whose code does not know them. PYTEST_DONT_REWRITE"""

import tokenize

OF_FUNCTION = 0x2  # CO_NEWLOCALS: a class body has none.


class Qualified:
    def __init__(self):
        self._files = {}
        self._open, self._compile = tokenize.open, compile

    def __call__(self, file, line, name):
        """Of the function of this name that begins in this line. A file that cannot be read again has plain names."""
        names = self._files.get(file)
        if names is None:
            names = self._files[file] = {}
            try:
                with self._open(file) as source:
                    code = self._compile(source.read(), file, "exec", dont_inherit=True)
                _collect(code, "", names)
            except (OSError, SyntaxError, ValueError):
                pass
        return names.get((line, name), name)


def _collect(code, prefix, names):
    for one in code.co_consts:
        if hasattr(one, "co_code"):
            qualified = prefix + one.co_name
            names.setdefault((one.co_firstlineno, one.co_name), qualified)
            _collect(one, qualified + (".<locals>." if one.co_flags & OF_FUNCTION else "."), names)
