"""Code that a test runs without having imported it, and what tests share."""

import json

import pytest

FUNCTION = {"UNFLAKE_DEPENDENCIES": "function"}
FILE = {"UNFLAKE_DEPENDENCIES": "file"}

# How the test in test_b.py gets at code of a file that only test_a.py imports.
WAYS = {
    "a register": "registry.HOOKS[0]()",
    "an instance": "repr(registry.HOOKS[1])",
    "a subclass": "registry.Base.__subclasses__()[0]().go()",
    "a thread": "t = threading.Thread(target=registry.HOOKS[0]); t.start(); t.join()",
    "a generator": "next(registry.HOOKS[2])",
    "a generator that is thrown into": "pytest.raises(KeyError, registry.HOOKS[2].throw, KeyError)",
    "a copy of the code": "types.FunctionType(registry.HOOKS[0].__code__.replace(co_name='x'), {})()",
    "code by marshal": "types.FunctionType(marshal.loads(registry.TEXT), {})()",
    "a finalizer": "del registry.HOOKS[3]",
}
STRANGERS = {
    "registry.py": "HOOKS = []\nclass Base: pass",
    "test_a.py": "import only_a, unused\ndef test_a(): pass\ndef test_again(): only_a.f()",
    "only_a.py": """
        import marshal, registry
        def f(): pass
        def g():
            yield 1
            yield 2
        class Shown(registry.Base):
            def __repr__(self): return "shown"
            def go(self): pass
        class Ends:
            def __del__(self): pass
        registry.HOOKS += [f, Shown(), g(), Ends()]
        next(registry.HOOKS[2])
        registry.TEXT = marshal.dumps(f.__code__)
        """,
    "unused.py": "def f(): pass",
}
B = "import marshal, pytest, threading, types\nimport registry\ndef test_b():\n    %s\ndef test_c(): pass\n"


@pytest.mark.parametrize("mode", [FILE, FUNCTION], ids=["file", "function"])
@pytest.mark.parametrize("forked", [False, True], ids=["here", "forked"])
@pytest.mark.parametrize("code", WAYS.values(), ids=list(WAYS))
def test_code_that_another_file_brought(depends, code, forked, mode):
    told = depends(dict(STRANGERS, **{"test_b.py": B % code}), 2, mode=mode, forked=forked)
    assert "only_a.py" in told["executed"] and "unused.py" not in told["executed"], told["executed"]
    assert told["unknown"] == []


@pytest.mark.parametrize("tests", [[2, 2], [0, 2], [1, 2], [2, 1, 2], [1, 3, 2], [2, 3, 1, 1, 2]], ids=str)
def test_it_is_told_again_whatever_ran_before(depends, tests):
    told = depends(dict(STRANGERS, **{"test_b.py": B % WAYS["a register"]}), *tests)
    assert "only_a.py" in told["executed"] and "unused.py" not in told["executed"]
    assert told["after"] == len(tests) - 1


@pytest.mark.parametrize("tests", [[3], [2, 3], [1, 3], [2, 1, 3]], ids=str)
def test_it_is_not_told_where_it_did_not_run(depends, tests):
    told = depends(dict(STRANGERS, **{"test_b.py": B % WAYS["a register"]}), *tests)
    assert told["executed"] == ["registry.py", "test_b.py"] and told["unknown"] == []


def test_functions_taken_out_of_code_that_was_never_executed(depends):
    code = """
        import types
        kept = []
        def test_a():
            whole = compile(open("helper.py").read(), "helper.py", "exec")
            kept.append([one for one in whole.co_consts if isinstance(one, types.CodeType)][0])
        def test_b(): types.FunctionType(kept[0], {})()
        """
    told = depends({"test_it.py": code, "helper.py": "def f(): pass"}, 0, 1)
    assert "helper.py" in told["executed"]


def test_a_fork_that_runs_code_of_another_file(depends):
    code = "import os\n    pid = os.fork()\n    if not pid:\n        registry.HOOKS[0]()\n        os._exit(0)\n    os.waitpid(pid, 0)"
    told = depends(dict(STRANGERS, **{"test_b.py": B % code}), 2)
    assert "only_a.py" in told["executed"] and told["unknown"] == []


def test_somebody_who_takes_the_watch_away(depends):
    code = """import sys
    if hasattr(sys, "monitoring"):
        for tool in (3, 4):
            if sys.monitoring.get_tool(tool): sys.monitoring.free_tool_id(tool)
    else:
        sys.settrace(None); sys.setprofile(None); sys.settrace(None)
    registry.HOOKS[0]()"""
    files = dict(STRANGERS, **{"test_b.py": B % code})
    told = depends(files, 2)
    assert "only_a.py" in told["executed"] or told["unknown"] == ["somebody else took the watch over executed code away"]


def test_after_somebody_has_taken_the_watch_away(depends):
    code = 'import sys\n    if hasattr(sys, "monitoring"):\n        for tool in (3, 4):\n            if sys.monitoring.get_tool(tool): sys.monitoring.free_tool_id(tool)'
    files = dict(STRANGERS, **{"test_b.py": B % code, "test_c.py": "import registry\ndef test_it(): registry.HOOKS[0]()"})
    told = depends(files, 2, 4)
    assert "only_a.py" in told["executed"]


def test_a_thread_where_there_are_no_strangers(depends):
    code = "import _thread, time\ndone = []\ndef test_a():\n    _thread.start_new_thread(done.append, (1,))\n    while not done: time.sleep(0.01)"
    assert depends(code)["unknown"] == []


def test_posix_by_its_name(depends):
    told = depends({"test_it.py": "import posix, pytest\ndef test_a():\n    posix.stat('data.txt')\n    pytest.raises(OSError, posix.stat, 'new.txt')", "data.txt": ""})
    assert "data.txt" in told["read"] and "new.txt" in told["missed"]


def test_an_import_in_a_module_is_the_modules_own(depends):
    """Also where other modules were imported before in the same test, and files were read in between."""
    files = {
        "test_it.py": "def test_a():\n    import one\n    open('a.txt').close()\n    import two\ndef test_b():\n    import two\n",
        "one.py": "open('one.txt').close()",
        "two.py": "exec('x = 1')\nimport three\nopen('two.txt').close()",
        "three.py": "open('three.txt').close()",
    }
    told = depends(dict(files, **{name + ".txt": "" for name in ("a", "one", "two", "three")}), 0, 1)
    assert told["read"] == ["three.txt", "two.txt"]
    assert told["executed"] == ["test_it.py", "three.py", "two.py"]


def test_tests_that_depend_on_the_same(project):
    files = {"test_it.py": "import pytest\n@pytest.mark.parametrize('n', range(6))\ndef test_a(n):\n    if n == 4: open('data.txt').close()", "data.txt": ""}
    agent = project(files, variables=FILE).ready()
    paths = [done["dependencies"] for done in agent.run(0, 1, 2, 3, 4, 5)]
    told = []
    for path in paths:
        with open(path) as file:
            told.append(json.load(file))
    assert [one["read"] for one in told] == [[], [], [], [], ["data.txt"], []]
    assert told[0]["after"] == 0 and all(one["after"] for one in told[1:])
    assert paths.count(paths[0]) == 1 and paths.count(paths[1]) > 1
