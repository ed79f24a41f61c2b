"""Follows the processes that watched code starts: only Python, other programs are unknown."""

import _posixsubprocess
import json
import os
import re
import subprocess
import sys

from .facts import FactJournal, read_journal

PYTHON_NAME = re.compile(r"(python|pypy)[0-9.]*(-dbg|d|t)?$")
# Programs of the system that read no files, whatever their arguments.
HARMLESS_PROGRAMS = frozenset("true false echo sleep uname whoami nproc getconf".split())
SYSTEM_DIRECTORIES = "/bin/", "/usr/bin/", "/usr/local/bin/"
# Helpers of multiprocessing, which run no code of the project and stay until the process ends.
RESOURCE_TRACKERS = "multiprocessing.resource_tracker", "multiprocessing.semaphore_tracker"
VARIABLE = "UNFLAKE_FOLLOW"
# Starts the watch in a Python process, which imports this module by itself.
SITECUSTOMIZE = """\
import os, sys
settings = os.environ.pop(%r, None)
if settings:
    import json
    settings = json.loads(settings)
    sys.path[:] = [one for one in sys.path if one != settings["site"]]
    if settings["path"] is None:
        os.environ.pop("PYTHONPATH", None)
    else:
        os.environ["PYTHONPATH"] = settings["path"]
    try:
        if hasattr(sys, "addaudithook"):
            import types
            package = types.ModuleType("unflake_watch")
            package.__path__ = [settings["agent"]]
            sys.modules["unflake_watch"] = package
            from unflake_watch.dependencies import child_watch
            child_watch.start(settings)
    except Exception:
        pass  # Without a journal the process counts as not followed.
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize
    except ImportError:
        sys.modules["sitecustomize"] = ours
""" % VARIABLE


class ChildProcesses:
    def __init__(self, recorder, names, mode, agent, side, after_fork):
        self._recorder, self._names, self._settings = recorder, names, {"mode": mode, "agent": agent, "side": side}
        self._after_fork = after_fork
        self._directory, self._site_directory = None, None
        self._getpid, self._environ = os.getpid, os.environb
        self._exists, self._open, self._read, self._close = os.path.exists, os.open, os.read, os.close
        self._encode = json.JSONEncoder().encode
        self._listdir, self._makedirs = os.listdir, os.makedirs
        self._popen_calls = self._started = self._expected_forks = self._number = 0
        self._is_own_call = False
        self._tokens = {}  # By token of a followed process: its command.
        self._alive = {}  # Processes of earlier attempts that still run.

    def handlers(self):
        return {
            "subprocess.Popen": self._popen_called,
            "os.fork": self._forked,
            "os.forkpty": self._forked,
            "os.exec": self._started_unseen,
            "os.posix_spawn": self._started_unseen,
            "os.spawn": self._started_unseen,
            "os.system": self._shell_started,
            "pty.spawn": self._started_unseen,
        }

    def install(self):
        real = _posixsubprocess.fork_exec

        def fork_exec(argv, executables, close_fds, pass_fds, cwd, env, *rest):
            self._started += 1
            return real(argv, executables, close_fds, pass_fds, cwd, self._environment(argv, executables, cwd, env), *rest)

        _posixsubprocess.fork_exec = fork_exec
        if hasattr(subprocess, "_fork_exec"):
            subprocess._fork_exec = fork_exec
        for name in ("posix_spawn", "posix_spawnp", "execve"):
            if hasattr(os, name):
                setattr(os, name, self._with_environment(getattr(os, name), name == "posix_spawnp"))
        execve = os.execve

        def execv(path, argv):
            execve(path, argv, os.environ)

        os.execv = execv
        os.register_at_fork(after_in_child=self._in_child)

    def _with_environment(self, real, searches_path):
        def start(path, argv, env, **options):
            if not searches_path:
                pairs = [os.fsencode(k) + b"=" + os.fsencode(v) for k, v in env.items()] if env is not None else None
                changed = self._environment(list(argv), [os.fsencode(path)] if not isinstance(path, int) else [], None, pairs)
                if changed is not None:
                    env = dict(pair.partition(b"=")[::2] for pair in changed)
            else:
                self._note_program(str(path), False)
            self._started += 1
            self._is_own_call = True
            try:
                return real(path, argv, env, **options)
            finally:
                self._is_own_call = False

        start.__name__ = real.__name__
        if real in os.supports_fd:
            os.supports_fd.add(start)
        return start

    # -- Attempts and the collection ---------------------------------------------------------------

    def begin(self, directory):
        """From now on processes write their journals to this directory, which they make."""
        self._directory = directory
        self._popen_calls = self._started = self._expected_forks = 0
        self._tokens = {}

    def merge(self, facts):
        """Adds the facts of all processes since `begin`, and what is unknown about them."""
        unknown = facts["unknown"]
        for pid, command in list(self._alive.items()):
            unknown.add("a process of an earlier test was still running: %s" % command)
            if not is_alive(pid):
                del self._alive[pid]
        if self._popen_calls > self._started:
            unknown.add("a program was started unobserved")
        with_journal, seen_forks = set(), 0
        if self._expected_forks or self._tokens:
            try:
                journals = sorted(self._listdir(self._directory))
            except OSError:
                journals = []
            tokens = dict(self._tokens)
            for journal in journals:
                token, _, pid = journal.partition("-")
                if not pid.isdigit():
                    continue
                with_journal.add(token)
                for kind, value in read_journal("%s/%s" % (self._directory, journal)):
                    if kind == "token":
                        tokens[value[0]] = value[1]
                    elif kind == "forks":
                        self._expected_forks += 1
                    elif kind in facts:
                        facts[kind].add(value)
                seen_forks += token == "fork"
                if is_alive(int(pid)):
                    command = tokens.get(token, "a copy of the process")
                    self._alive[int(pid)] = command
                    unknown.add("a child process outlived the test: %s" % command)
            for token, command in tokens.items():
                if token not in with_journal:
                    unknown.add("a Python process was not observed: %s" % command)
            if seen_forks < self._expected_forks:
                unknown.add("a forked process was not observed")

    # -- Starts ------------------------------------------------------------------------------------

    def _popen_called(self, *_):
        self._popen_calls += 1

    def _forked(self, *_):
        if self._directory is not None and not self._is_own_call:
            self._expected_forks += 1
            if self._recorder.journal is not None:
                self._recorder.journal.write("forks", 1)

    def _started_unseen(self, *_):
        if not self._is_own_call:
            self._recorder.note("unknown", "a program was started unobserved")

    def _shell_started(self, command):
        command = os.fsdecode(command) if isinstance(command, (str, bytes)) else repr(command)
        self._note_program(command.split()[0] if command.split() else "sh", False, "a shell")

    def _note_program(self, name, is_followed, command=None):
        self._recorder.note("programs", (name, is_followed))
        if not is_followed:
            self._recorder.note("unknown", "what %s does is not known" % (command or name))

    def _environment(self, argv, executables, cwd, env):
        """The environment of a program that is about to start; a Python gets the watch through it.

        None stays None if nothing has to change.
        """
        try:
            return self._watched_environment(argv, executables, cwd, env)
        except Exception as error:  # It must not surface in the watched code.
            self._recorder.note("unknown", "observing the start of a program failed: %s" % error)
            return env

    def _watched_environment(self, argv, executables, cwd, env):
        command = [os.fsdecode(word) if isinstance(word, (str, bytes)) else str(word) for word in argv]
        program = None
        for executable in executables:
            path = self._names.absolute(executable, os.fsdecode(cwd) if cwd is not None else None)
            if path is None:
                continue
            if self._exists(path):
                program = path
                break
            for name in self._names.of(path):
                self._recorder.note("missed", name)
        if program is None:
            if not executables:
                self._note_program(command[0] if command else "?", False)
            return env
        for name in self._names.of(program):
            self._recorder.note("read", name)
        name = os.path.basename(program)
        if name in HARMLESS_PROGRAMS and os.path.dirname(program) + "/" in SYSTEM_DIRECTORIES:
            self._recorder.note("programs", (command[0], True))
            return env
        if any(word.startswith("from " + tracker) for word in command[1:] for tracker in RESOURCE_TRACKERS):
            return env
        if self._directory is None or not self._is_python(program):
            self._note_program(command[0] if command else name, False)
            return env
        self._recorder.note("programs", (command[0], True))
        return self._with_watch(command, env)

    def _is_python(self, path):
        if PYTHON_NAME.match(os.path.basename(path)) or os.path.realpath(path) == os.path.realpath(sys.executable):
            return True
        try:
            descriptor = self._open(path, os.O_RDONLY)
        except OSError:
            return False
        try:
            line = self._read(descriptor, 256).split(b"\n")[0]
        finally:
            self._close(descriptor)
        words = line[2:].split()
        return line.startswith(b"#!") and any(PYTHON_NAME.match(os.path.basename(os.fsdecode(word))) for word in words)

    def _with_watch(self, command, env):
        self._number += 1
        token = "%dx%d" % (self._getpid(), self._number)
        shown = " ".join(command)[:200]
        self._tokens[token] = shown
        if self._recorder.journal is not None:
            self._recorder.journal.write("token", [token, shown])
        variables = dict(self._environ) if env is None else dict(pair.partition(b"=")[::2] for pair in env)
        path = variables.get(b"PYTHONPATH")
        site = self._make_site_directory()
        old_path = None if path is None else os.fsdecode(path)
        settings = dict(self._settings, directory=self._directory, token=token, site=site, path=old_path)
        variables[b"PYTHONPATH"] = os.fsencode(site) + (b":" + path if path else b"")
        variables[VARIABLE.encode()] = self._encode(settings).encode()
        return [name + b"=" + value for name, value in variables.items()]

    def _make_site_directory(self):
        """A directory with the `sitecustomize` module that starts the watch."""
        if self._site_directory is None:
            site = "%s/follow" % self._settings["side"]
            self._makedirs(site, exist_ok=True)
            unfinished = "%s/%d" % (site, self._getpid())
            with open(unfinished, "w") as file:
                file.write(SITECUSTOMIZE)
            os.rename(unfinished, site + "/sitecustomize.py")
            self._site_directory = site
        return self._site_directory

    def _in_child(self):
        """In a process that a test forked: it writes a journal of its own."""
        if self._directory is not None:
            self._recorder.journal = FactJournal(self._directory, "fork-%d" % self._getpid())
            self._recorder.journal.write("hello", self._getpid())
            self._after_fork()


def is_alive(pid):
    """Whether a process still runs. A zombie does not."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, IndexError):
        return False
