"""What files were before this process wrote to them."""

import json
import os
import subprocess
import sys
import textwrap

import pytest
from support.driver import AGENT

HEAD = """
    import os, shutil, sqlite3, sys, tempfile
    sys.path.insert(0, %(agent)r)
    from unflake_agent.core.written_files import WrittenFiles
    side, project, home = %(side)r, %(project)r, %(home)r
    written = WrittenFiles(side, [project], [])
    written.start()
    written.begin_run()
    os.chdir(home)
"""


@pytest.fixture
def journal(tmp_path):
    """Runs code in a process that records, and returns the journal by name: kind and earlier contents."""
    for name in ("side", "project", "home"):
        (tmp_path / name).mkdir()
    (tmp_path / "home" / "old").write_text("before")
    names = {name: str(tmp_path / name) for name in ("side", "project", "home")}

    def run(code):
        head = textwrap.dedent(HEAD) % dict(names, agent=AGENT)
        subprocess.run([sys.executable, "-c", head + textwrap.dedent(code)], check=True, timeout=60)
        path = tmp_path / "side" / "written-files"
        found = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            one = json.loads(line)
            if "port" in one:
                found["port"] = found.get("port", 0) + 1
                continue
            copy = one.get("copy")
            name = os.path.relpath(one["path"], names["home"])
            found.setdefault(name, (one["kind"], open(copy).read() if copy else None))
        return found

    return run


def test_new_and_changed_files_are_journaled(journal):
    code = "open('new', 'w').close(); open('old', 'a').write('x'); open('old').read()"
    assert journal(code) == {"new": ("absent", None), "old": ("file", "before")}


def test_a_new_directory_stands_for_its_files(journal):
    assert journal("os.makedirs('a/b'); open('a/b/c', 'w').close()") == {"a": ("absent", None)}


def test_removed_and_renamed_files_are_journaled(journal):
    code = "os.rename('old', 'moved'); os.remove('moved')"
    assert journal(code) == {"old": ("file", "before"), "moved": ("absent", None)}


def test_removed_trees_are_journaled(journal):
    code = """
        written._busy.add(written._thread())
        os.mkdir('tree'); open('tree/one', 'w').write('text')
        written._busy.clear()
        shutil.rmtree('tree')
    """
    assert journal(code) == {"tree": ("directory", None), "tree/one": ("file", "text")}


def test_databases_are_journaled(journal):
    assert journal("sqlite3.connect('shop.db').close()")["shop.db"] == ("absent", None)


def test_chosen_ports_and_local_sockets_are_journaled(journal):
    code = """
        import socket
        drawn, unix = socket.socket(), socket.socket(socket.AF_UNIX)
        drawn.bind(("127.0.0.1", 0))
        unix.bind("control")
        unix_again = socket.socket(socket.AF_UNIX)
        unix_again.bind("\\0abstract")
        for family in (socket.AF_INET, socket.AF_INET):
            port = drawn.getsockname()[1]
            try:
                socket.socket(family).bind(("127.0.0.1", port))
            except OSError:
                pass
    """
    assert journal(code) == {"control": ("absent", None), "port": 1}


def test_the_project_names_drawn_at_random_and_reading_are_not(journal):
    code = """
        open(os.path.join(project, 'out'), 'w').close()
        with tempfile.TemporaryDirectory(dir=home) as directory:
            open(os.path.join(directory, 'x'), 'w').close()
        tempfile.NamedTemporaryFile(dir=home).close()
        open('old').read()
        open(os.devnull, 'w').close()
    """
    assert journal(code) == {}


def test_a_replaced_standard_library_does_not_matter(journal):
    assert journal("os.lstat = os.readlink = os.path.realpath = None; open('new', 'w').close()") == {
        "new": ("absent", None)
    }
