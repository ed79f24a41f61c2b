import warnings


def quiet():
    """For programs that still use the old names."""
    warnings.simplefilter("ignore", UserWarning)


def distance(a, b):
    warnings.warn("use maps.route instead", UserWarning, stacklevel=2)
    return abs(a[0] - b[0]) + abs(a[1] - b[1])
