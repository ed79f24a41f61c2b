"""The outlines of Python's own sources by its `ast`: for each file, one line of JSON.

`scopes`: name, class or not, first line with decorators, line, last line. `edits`: tokens in simple
statements, by the byte at which they end, with the innermost scope around them.
"""

import ast
import io
import json
import os
import random
import sys
import sysconfig
import tokenize
import warnings

warnings.simplefilter("ignore")


def scopes(tree):
    found = []

    def walk(node, prefix, simple):
        around = prefix[: -len(".<locals>.")] if prefix.endswith(".<locals>.") else prefix[:-1]
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = prefix + child.name
                is_class = isinstance(child, ast.ClassDef)
                first = min([child.lineno] + [one.lineno for one in child.decorator_list])
                found.append([name, is_class, first, child.lineno, child.end_lineno])
                for statement in child.body:
                    walk(ast.Module(body=[statement], type_ignores=[]), name + ("." if is_class else ".<locals>."), simple)
            else:
                if isinstance(child, ast.stmt) and not hasattr(child, "body") and not hasattr(child, "cases"):
                    begin, end = (child.lineno, child.col_offset), (child.end_lineno, child.end_col_offset)
                    simple.append((begin, end, around or "<module>"))
                walk(child, prefix, simple)

    simple = []
    walk(tree, "", simple)
    return sorted(found, key=lambda one: (one[3], one[0])), simple


def edits(text, simple, chosen):
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()) + 1)
    column = lambda row, character: len(lines[row - 1][:character].encode())
    found = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (tokenize.NAME, tokenize.NUMBER):
            continue
        begin, end = [(row, column(row, character)) for row, character in (token.start, token.end)]
        owners = [name for first, last, name in simple if first <= begin and end <= last]
        if len(owners) == 1:
            found.append([starts[end[0] - 1] + end[1], owners[0]])
    return chosen.sample(found, min(len(found), 6))


def main():
    root, chosen, files = sysconfig.get_paths()["stdlib"], random.Random(7), []
    for directory, below, names in os.walk(root):
        below[:] = sorted(one for one in below if one not in ("site-packages", "dist-packages", "__pycache__"))
        files += [os.path.join(directory, name) for name in sorted(names) if name.endswith(".py")]
    if len(files) > int(sys.argv[1]):
        files = chosen.sample(files, int(sys.argv[1]))
    for file in files:
        with open(file, "rb") as source:
            data = source.read()
        try:
            tree = ast.parse(data)
        except (SyntaxError, ValueError):
            continue
        found, simple = scopes(tree)
        expected = {"file": file, "scopes": found, "edits": []}
        if b"\r" not in data and b"\f" not in data and not data.startswith(b"\xef\xbb\xbf") and len(data) < 15_000:
            try:
                expected["edits"] = edits(data.decode(), simple, chosen)
            except UnicodeDecodeError:
                pass
        print(json.dumps(expected))


main()
