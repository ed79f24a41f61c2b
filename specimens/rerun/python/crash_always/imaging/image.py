"""Images whose header lies in memory that the imaging library owns."""
import ctypes


class Header(ctypes.Structure):
    _fields_ = [("width", ctypes.c_uint32), ("height", ctypes.c_uint32)]


class Image:
    def __init__(self, width, height):
        self._header = Header(width, height)
        self._address = ctypes.addressof(self._header)

    def release(self):
        self._header = None
        self._address = 0

    @property
    def size(self):
        header = Header.from_address(self._address)
        return header.width, header.height

    @property
    def released(self):
        return self._address == 0
