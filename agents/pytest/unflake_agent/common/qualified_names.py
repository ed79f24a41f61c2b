"""Qualified names of functions. Code objects have them from Python 3.11 on; before, the source is
compiled again to find them."""

import tokenize

NEW_LOCALS = 0x2  # CO_NEWLOCALS: set for functions, not for class bodies.


class QualifiedNames:
    def __init__(self):
        self._files = {}
        self._open, self._compile = tokenize.open, compile

    def of_code(self, code):
        name = getattr(code, "co_qualname", None)
        return name or self.find(code.co_filename, code.co_firstlineno, code.co_name)

    def find(self, file, line, name):
        """Of the function that begins in this line; its plain name if the file cannot be read."""
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
            _collect(one, qualified + (".<locals>." if one.co_flags & NEW_LOCALS else "."), names)
