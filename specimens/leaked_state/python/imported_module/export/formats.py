_writers = {"csv": ",".join}


def register(name, writer):
    _writers[name] = writer


def names():
    return sorted(_writers)


def write(name, row):
    return _writers[name](row)
