"""A hash of what is installed: distributions with their files, and the interpreter.

Files that only installers read (requirements, lock files) change nothing while this stays the same.
"""

import hashlib
import os
import sys

from ..common.paths import INSTALLED, environment

# Beside the names of all entries these say which version is there, and from where.
RECORDS = "RECORD", "installed-files.txt", "METADATA", "PKG-INFO", "direct_url.json", "entry_points.txt"
CONTENTS = ".pth", ".egg-link"
# Tools that start pytest as their configuration says. What that changes is not compared.
STARTERS = "TOX_ENV_NAME", "TOX_ENV_DIR", "NOX_CURRENT_SESSION", "HATCH_ENV_ACTIVE", "PDM_RUN_CWD", "POE_ROOT"


def installed(agent):
    """`agent`: the directory of the agent, which is none of the project's. None: not known."""
    if any(name in os.environ for name in STARTERS):
        return None
    found = hashlib.blake2b(digest_size=16)

    def add(*words):
        for word in words:
            found.update(b"%d:" % len(word) + word)

    def add_file(path):
        try:
            with open(path, "rb") as file:
                add(path.encode("utf-8", "surrogateescape"), file.read())
        except OSError:
            add(b"absent")

    add(sys.version.encode(), sys.executable.encode("utf-8", "surrogateescape"))
    prefixes = environment()
    try:
        for directory in sys.path:
            inside = os.path.join(directory, "")
            if directory == agent or not (inside.startswith(prefixes) or any(one in inside for one in INSTALLED)):
                continue
            add(os.fsencode(directory))
            if not any(one in inside for one in INSTALLED):
                continue  # The standard library belongs to the version of the interpreter.
            for entry in sorted(os.listdir(directory)):
                if entry == "__pycache__":
                    continue
                path = os.path.join(directory, entry)
                add(os.fsencode(entry))
                if entry.endswith(CONTENTS):
                    add_file(path)
                elif entry.endswith((".dist-info", ".egg-info")):
                    names = RECORDS if os.path.isdir(path) else ("",)
                    for name in names:
                        part = os.path.join(path, name) if name else path
                        if os.path.exists(part):
                            add_file(part)
        conda = os.path.join(sys.prefix, "conda-meta")
        if os.path.isdir(conda):
            add(*map(os.fsencode, sorted(os.listdir(conda))))
    except (OSError, ValueError):
        return None
    return found.hexdigest()
