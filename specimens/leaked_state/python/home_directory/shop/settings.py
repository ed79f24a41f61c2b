"""Settings that a user keeps in the home directory."""
from pathlib import Path

FILE = Path.home() / ".unflake-specimen-settings"


def language():
    return FILE.read_text() if FILE.exists() else "en"


def set_language(name):
    FILE.write_text(name)
