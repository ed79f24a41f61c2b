"""Processes that the watched code starts. A Python is followed; for anything else nobody knows. PYTEST_DONT_REWRITE"""

import _posixsubprocess
import json
import os
import re
import subprocess
import sys

from .facts import Journal, read_journal

PYTHON = re.compile(r"(python|pypy)[0-9.]*(-dbg|d|t)?$")
# Programs of the system that read no file, whatever they are told.
HARMLESS = frozenset("true false echo sleep uname whoami nproc getconf".split())
SYSTEM = "/bin/", "/usr/bin/", "/usr/local/bin/"
# Helpers of multiprocessing that run nothing of the project and stay until the process ends.
TRACKERS = "multiprocessing.resource_tracker", "multiprocessing.semaphore_tracker"
VARIABLE = "UNFLAKE_FOLLOW"
FOLLOW = """\
import os, sys
told = os.environ.pop(%r, None)
if told:
    import json
    told = json.loads(told)
    sys.path[:] = [one for one in sys.path if one != told["here"]]
    if told["path"] is None:
        os.environ.pop("PYTHONPATH", None)
    else:
        os.environ["PYTHONPATH"] = told["path"]
    try:
        if hasattr(sys, "addaudithook"):
            import types
            package = types.ModuleType("unflake_watch")
            package.__path__ = [told["agent"]]
            sys.modules["unflake_watch"] = package
            from unflake_watch.dependencies import child_watch
            child_watch.start(told)
    except Exception:
        pass  # Nothing is told of this process, so it counts as not followed.
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize
    except ImportError:
        sys.modules["sitecustomize"] = ours
""" % VARIABLE


class Children:
    def __init__(self, recorder, names, mode, agent, side, on_fork):
        self._recorder, self._names, self._told = recorder, names, {"mode": mode, "agent": agent, "side": side}
        self._on_fork = on_fork
        self._place, self._here = None, None
        self._getpid, self._environ = os.getpid, os.environb
        self._exists, self._open, self._read, self._close = os.path.exists, os.open, os.read, os.close
        self._encode = json.JSONEncoder().encode
        self._listdir, self._makedirs = os.listdir, os.makedirs
        self._asked = self._started = self._forks = self._number = 0
        self._inside = False
        self._tokens = {}
        self._alive = {}  # Processes of earlier attempts that go on.

    def handlers(self):
        return {
            "subprocess.Popen": self._popen,
            "os.fork": self._fork,
            "os.forkpty": self._fork,
            "os.exec": self._unseen,
            "os.posix_spawn": self._unseen,
            "os.spawn": self._unseen,
            "os.system": self._shell,
            "pty.spawn": self._unseen,
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

    def _with_environment(self, real, searches):
        def start(path, argv, env, **options):
            if not searches:
                pairs = [os.fsencode(k) + b"=" + os.fsencode(v) for k, v in env.items()] if env is not None else None
                changed = self._environment(list(argv), [os.fsencode(path)] if not isinstance(path, int) else [], None, pairs)
                if changed is not None:
                    env = dict(pair.partition(b"=")[::2] for pair in changed)
            else:
                self._program(str(path), False)
            self._started += 1
            self._inside = True
            try:
                return real(path, argv, env, **options)
            finally:
                self._inside = False

        start.__name__ = real.__name__
        for kept in (os.supports_fd,):
            if real in kept:
                kept.add(start)
        return start

    # -- For one attempt, or for the collection -----------------------------------------------------------------------

    def begin(self, place):
        """From now on processes tell what they touch in this directory, which is made when there is one."""
        self._place = place
        self._asked = self._started = self._forks = 0
        self._tokens = {}

    def merge(self, facts):
        """What all processes told since `begin`; and in words what is not known of them."""
        unknown = facts["unknown"]
        for pid, words in list(self._alive.items()):
            unknown.add("a process of an earlier test went on: %s" % words)
            if not alive(pid):
                del self._alive[pid]
        if self._asked > self._started:
            unknown.add("a program was started past the watch")
        told, forks = set(), 0
        if self._forks or self._tokens:
            try:
                journals = sorted(self._listdir(self._place))
            except OSError:
                journals = []
            tokens = dict(self._tokens)
            for journal in journals:
                token, _, pid = journal.partition("-")
                if not pid.isdigit():
                    continue
                told.add(token)
                for kind, value in read_journal("%s/%s" % (self._place, journal)):
                    if kind == "token":
                        tokens[value[0]] = value[1]
                    elif kind == "forks":
                        self._forks += 1
                    elif kind in facts:
                        facts[kind].add(value)
                forks += token == "fork"
                if alive(int(pid)):
                    words = tokens.get(token, "a copy of the process")
                    self._alive[int(pid)] = words
                    unknown.add("a process that it started went on: %s" % words)
            for token, words in tokens.items():
                if token not in told:
                    unknown.add("a Python that could not be followed: %s" % words)
            if forks < self._forks:
                unknown.add("a copy of the process that could not be followed")

    # -- Starting -----------------------------------------------------------------------------------------------------

    def _popen(self, *_):
        self._asked += 1

    def _fork(self, *_):
        if self._place is not None and not self._inside:
            self._forks += 1
            if self._recorder.journal is not None:
                self._recorder.journal.write("forks", 1)

    def _unseen(self, *_):
        if not self._inside:
            self._recorder.note("unknown", "a program was started past the watch")

    def _shell(self, command):
        command = os.fsdecode(command) if isinstance(command, (str, bytes)) else repr(command)
        self._program(command.split()[0] if command.split() else "sh", False, "a shell")

    def _program(self, name, followed, words=None):
        self._recorder.note("programs", (name, followed))
        if not followed:
            self._recorder.note("unknown", "what %s does is not known" % (words or name))

    def _environment(self, argv, executables, cwd, env):
        """The variables for a program that is about to start, with those that bring the watch into it if it is a
        Python. `None` stays None where nothing is to be changed."""
        words = [os.fsdecode(word) if isinstance(word, (str, bytes)) else str(word) for word in argv]
        found = None
        for executable in executables:
            path = self._names.absolute(executable, os.fsdecode(cwd) if cwd is not None else None)
            if path is None:
                continue
            if self._exists(path):
                found = path
                break
            for name in self._names.of(path):
                self._recorder.note("missed", name)
        if found is None:
            if not executables:
                self._program(words[0] if words else "?", False)
            return env
        for name in self._names.of(found):
            self._recorder.note("read", name)
        base = os.path.basename(found)
        if base in HARMLESS and os.path.dirname(found) + "/" in SYSTEM:
            self._recorder.note("programs", (words[0], True))
            return env
        if any(word.startswith("from " + tracker) for word in words[1:] for tracker in TRACKERS):
            return env
        if self._place is None or not self._is_python(found):
            self._program(words[0] if words else base, False)
            return env
        self._recorder.note("programs", (words[0], True))
        return self._followed(words, env)

    def _is_python(self, path):
        if PYTHON.match(os.path.basename(path)) or os.path.realpath(path) == os.path.realpath(sys.executable):
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
        return line.startswith(b"#!") and any(PYTHON.match(os.path.basename(os.fsdecode(word))) for word in words)

    def _followed(self, words, env):
        self._number += 1
        token = "%dx%d" % (self._getpid(), self._number)
        shown = " ".join(words)[:200]
        self._tokens[token] = shown
        if self._recorder.journal is not None:
            self._recorder.journal.write("token", [token, shown])
        variables = dict(self._environ) if env is None else dict(pair.partition(b"=")[::2] for pair in env)
        path = variables.get(b"PYTHONPATH")
        here = self._follow_directory()
        told = dict(
            self._told, directory=self._place, token=token, here=here, path=None if path is None else os.fsdecode(path)
        )
        variables[b"PYTHONPATH"] = os.fsencode(here) + (b":" + path if path else b"")
        variables[VARIABLE.encode()] = self._encode(told).encode()
        return [name + b"=" + value for name, value in variables.items()]

    def _follow_directory(self):
        """A directory with the `sitecustomize` that lets the watch into a Python."""
        if self._here is None:
            here = "%s/follow" % self._told["side"]
            self._makedirs(here, exist_ok=True)
            unfinished = "%s/%d" % (here, self._getpid())
            with open(unfinished, "w") as file:
                file.write(FOLLOW)
            os.rename(unfinished, here + "/sitecustomize.py")
            self._here = here
        return self._here

    def _in_child(self):
        """A test has forked: this copy tells by itself what it does."""
        if self._place is not None:
            self._recorder.journal = Journal(self._place, "fork-%d" % self._getpid())
            self._recorder.journal.write("hello", self._getpid())
            self._on_fork()


def alive(pid):
    """Whether a process still runs. One that has ended and was not waited for does not."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, IndexError):
        return False
