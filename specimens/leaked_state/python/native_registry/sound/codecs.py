from sound import _native

BUILT_IN = ("wav", "flac")


def register(name):
    if name in BUILT_IN:
        raise ValueError(f"{name} is built in")
    _native.add(name)


def number():
    return len(BUILT_IN) + _native.number()


def extension(path):
    return path.rpartition(".")[2].lower()
