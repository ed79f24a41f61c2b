"""The lines that an attempt runs. PYTEST_DONT_REWRITE"""


def tell_lines(sheet, codes):
    """Told when the attempt is over: to write down each line as it comes would take longer than to run it."""
    files = {}
    for known in codes:
        if known.lines:
            files.setdefault(known.file, set()).update(list(known.lines))  # Threads may go on.
    for file in sorted(files):
        sheet.hold(sheet.line(["lines", sheet.file(file), _spans(sorted(files[file]))]))


def _spans(lines):
    spans = []
    for line in lines:
        if spans and spans[-1][1] == line - 1:
            spans[-1][1] = line
        else:
            spans.append([line, line])
    return spans
