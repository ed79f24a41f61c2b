"""Enters a private world: own files, network and inter-process communication for a forked process.

The plan comes from unflake, which has tried it; `crates/unflake-worlds/src/private` enters the same
plans for processes that it starts.
"""

import json
import os
import socket
import struct

MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS, IFF_UP_RUNNING = 0x8914, 0x41
CAPABILITY_VERSION_3 = 0x20080522


class PrivateWorld:
    """Prepared before the first fork, because tests may change what it needs."""

    def __init__(self, plan):
        import ctypes
        import fcntl
        import tempfile

        self._plan = json.loads(plan)
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._errno, self._ioctl = ctypes.get_errno, fcntl.ioctl
        self._libc.mount.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_ulong, ctypes.c_char_p]
        self._buffer = ctypes.create_string_buffer
        self._tempfile, self._mkdtemp = tempfile, tempfile.mkdtemp
        self._default_temp = tempfile.gettempdir()

    def enter(self):
        plan, here = self._plan, os.getcwd()
        if plan["temp_in"] is not None:
            self._set_temp()
        if plan["namespaces"] == 0:
            return
        self._check(self._libc.unshare(plan["namespaces"]))
        if plan["user"] is not None:
            _write("/proc/self/setgroups", "deny")
            for name, number in zip(("uid_map", "gid_map"), plan["user"]):
                _write("/proc/self/" + name, "%d %d 1" % (number, number))
        self._mount("none", "/", None, MS_REC | MS_PRIVATE)
        if plan["overlays"]:
            self._mount("none", plan["layers"], "tmpfs")
        held = []
        for path in plan["through"]:
            try:
                held.append((path, os.open(path, os.O_PATH | os.O_CLOEXEC)))
            except FileNotFoundError:
                pass  # What was mounted when the plan was made may be gone: others use this machine, too.
        for overlay in plan["overlays"]:
            os.mkdir(overlay["upper"], 0o755)
            os.mkdir(overlay["work"], 0o755)
            os.chmod(overlay["upper"], overlay["mode"])
            directory = overlay["directory"]
            self._mount("overlay", directory, "overlay", 0, overlay["options"])
            for path, descriptor in sorted(held, key=lambda one: one[0].count("/")):
                if path.startswith(directory + "/"):
                    try:
                        self._mount("/proc/self/fd/%d" % descriptor, path, None, MS_BIND | MS_REC)
                    except FileNotFoundError:
                        pass
            # A later overlay may cover this one, and what is below it.
            held.append((directory, os.open(directory, os.O_PATH | os.O_CLOEXEC)))
        for _, descriptor in held:
            os.close(descriptor)
        for path in plan["empty"]:
            self._mount("none", path, "tmpfs", 0, "mode=1777")
        if plan["namespaces"] & CLONE_NEWNET:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as loopback:
                self._ioctl(loopback, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", IFF_UP_RUNNING))
        os.chdir(here)
        if plan["user"] is not None and plan["user"][0] != 0:
            self._drop_capabilities()

    def _set_temp(self):
        """Gives the process its own `TMPDIR`, where the usual directories stay shared."""
        os.environ["TMPDIR"] = self._mkdtemp(prefix="temp-", dir=self._plan["temp_in"])
        if self._tempfile.tempdir in (None, self._default_temp):
            self._tempfile.tempdir = os.environ["TMPDIR"]

    def _drop_capabilities(self):
        """In a user namespace of its own a process may do everything; a test must not notice."""
        header = self._buffer(struct.pack("Ii", CAPABILITY_VERSION_3, 0), 8)
        self._check(self._libc.capset(header, self._buffer(24)))

    def _mount(self, source, target, kind, flags=0, options=None):
        texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, options)]
        self._check(self._libc.mount(texts[0], texts[1], texts[2], flags, texts[3]))

    def _check(self, result):
        if result != 0:
            number = self._errno()
            raise OSError(number, "cannot enter a private world: " + os.strerror(number))


def _write(path, text):
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
