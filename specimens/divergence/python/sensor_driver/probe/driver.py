import ctypes

_library = ctypes.CDLL(None)


def read():
    """What the probe says, from 0 to 255."""
    buffer = ctypes.create_string_buffer(1)
    _library.getrandom(buffer, 1, 0)
    return buffer.raw[0]
