import json

_writers = {
    "json": json.dumps,
    "csv": lambda row: ",".join(str(value) for value in row),
}


class UnknownFormat(Exception):
    pass


def register(name, writer):
    _writers[name] = writer


def export(row, name):
    if name not in _writers:
        raise UnknownFormat(name)
    return _writers[name](row)
