"""Code that a test runs without importing it, and reports that tests share."""

import json

import pytest


# How test_b.py runs code of only_a.py, which only test_a.py imports.
USES = {
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
FILES = {
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
TEST_B = "import marshal, pytest, threading, types\nimport registry\ndef test_b():\n    %s\ndef test_c(): pass\n"


@pytest.mark.parametrize("mode", ["file", "function"])
@pytest.mark.parametrize("forked", [False, True], ids=["here", "forked"])
@pytest.mark.parametrize("code", USES.values(), ids=list(USES))
def test_code_that_only_another_test_file_imports(dependencies, code, forked, mode):
    report = dependencies(dict(FILES, **{"test_b.py": TEST_B % code}), 2, mode=mode, forked=forked)
    assert "only_a.py" in report["executed"] and "unused.py" not in report["executed"], report["executed"]
    assert report["unknown"] == []


@pytest.mark.parametrize("tests", [[2, 2], [0, 2], [1, 2], [2, 1, 2], [1, 3, 2], [2, 3, 1, 1, 2]], ids=str)
def test_foreign_code_is_reported_whatever_ran_before(dependencies, tests):
    report = dependencies(dict(FILES, **{"test_b.py": TEST_B % USES["a register"]}), *tests)
    assert "only_a.py" in report["executed"] and "unused.py" not in report["executed"]
    assert report["after"] == len(tests) - 1


@pytest.mark.parametrize("tests", [[3], [2, 3], [1, 3], [2, 1, 3]], ids=str)
def test_foreign_code_that_did_not_run_is_not_reported(dependencies, tests):
    report = dependencies(dict(FILES, **{"test_b.py": TEST_B % USES["a register"]}), *tests)
    assert report["executed"] == ["registry.py", "test_b.py"]
    assert report["unknown"] == ["earlier tests in its process may have hidden a dependency"] * (len(tests) > 1)


def test_function_extracted_from_code_that_never_ran(dependencies):
    code = """
        import types
        kept = []
        def test_a():
            whole = compile(open("helper.py").read(), "helper.py", "exec")
            kept.append([one for one in whole.co_consts if isinstance(one, types.CodeType)][0])
        def test_b(): types.FunctionType(kept[0], {})()
        """
    report = dependencies({"test_it.py": code, "helper.py": "def f(): pass"}, 0, 1)
    assert "helper.py" in report["executed"]


def test_fork_that_runs_foreign_code(dependencies):
    code = "import os\n    pid = os.fork()\n    if not pid:\n        registry.HOOKS[0]()\n        os._exit(0)\n    os.waitpid(pid, 0)"
    report = dependencies(dict(FILES, **{"test_b.py": TEST_B % code}), 2)
    assert "only_a.py" in report["executed"] and report["unknown"] == []


def test_watch_disabled_by_the_test(dependencies):
    code = """import sys
    if hasattr(sys, "monitoring"):
        for tool in (3, 4):
            if sys.monitoring.get_tool(tool): sys.monitoring.free_tool_id(tool)
    else:
        sys.settrace(None); sys.setprofile(None); sys.settrace(None)
    registry.HOOKS[0]()"""
    files = dict(FILES, **{"test_b.py": TEST_B % code})
    report = dependencies(files, 2)
    assert "only_a.py" in report["executed"] or report["unknown"] == ["another tool replaced the tracer of executed code"]


def test_watch_disabled_by_an_earlier_test(dependencies):
    code = 'import sys\n    if hasattr(sys, "monitoring"):\n        for tool in (3, 4):\n            if sys.monitoring.get_tool(tool): sys.monitoring.free_tool_id(tool)'
    files = dict(FILES, **{"test_b.py": TEST_B % code, "test_c.py": "import registry\ndef test_it(): registry.HOOKS[0]()"})
    report = dependencies(files, 2, 4)
    assert "only_a.py" in report["executed"]


def test_low_level_thread_without_foreign_code(dependencies):
    code = "import _thread, time\ndone = []\ndef test_a():\n    _thread.start_new_thread(done.append, (1,))\n    while not done: time.sleep(0.01)"
    assert dependencies(code)["unknown"] == []


def test_calls_through_the_posix_module(dependencies):
    report = dependencies({"test_it.py": "import posix, pytest\ndef test_a():\n    posix.stat('data.txt')\n    pytest.raises(OSError, posix.stat, 'new.txt')", "data.txt": ""})
    assert "data.txt" in report["read"] and "new.txt" in report["missed"]


def test_facts_of_an_import_belong_to_the_imported_module(dependencies):
    """Also if the test imported other modules before and read files in between."""
    files = {
        "test_it.py": "def test_a():\n    import one\n    open('a.txt').close()\n    import two\ndef test_b():\n    import two\n",
        "one.py": "open('one.txt').close()",
        "two.py": "exec('x = 1')\nimport three\nopen('two.txt').close()",
        "three.py": "open('three.txt').close()",
    }
    report = dependencies(dict(files, **{name + ".txt": "" for name in ("a", "one", "two", "three")}), 0, 1)
    assert report["read"] == ["three.txt", "two.txt"]
    assert report["executed"] == ["test_it.py", "three.py", "two.py"]


def test_equal_reports_share_a_file(project):
    files = {"test_it.py": "import pytest\n@pytest.mark.parametrize('n', range(6))\ndef test_a(n):\n    if n == 4: open('data.txt').close()", "data.txt": ""}
    agent = project(files, variables={"UNFLAKE_DEPENDENCIES": "file"}).ready()
    paths = [done["dependencies"] for done in agent.run(0, 1, 2, 3, 4, 5)]
    report = []
    for path in paths:
        with open(path) as file:
            report.append(json.load(file))
    assert [one["read"] for one in report] == [[], [], [], [], ["data.txt"], []]
    assert report[0]["after"] == 0 and all(one["after"] for one in report[1:])
    assert paths.count(paths[0]) == 1 and paths.count(paths[1]) > 1
