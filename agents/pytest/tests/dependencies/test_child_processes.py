"""Dependencies of the processes that a test starts."""

import pytest


CHILD = {"child.py": "import helper\nopen('data.txt').close()\nhelper.f()", "helper.py": "def f(): pass", "data.txt": ""}


@pytest.mark.parametrize("mode", ["file", "function"])
@pytest.mark.parametrize(
    "code",
    [
        "subprocess.run([sys.executable, 'child.py'], check=True)",
        "subprocess.run([sys.executable, 'child.py'], check=True, env={})",
        "subprocess.run([sys.executable, 'child.py'], check=True, close_fds=False, env={'PYTHONPATH': ''})",
        "os.waitpid(os.posix_spawn(sys.executable, [sys.executable, 'child.py'], os.environ), 0)",
        "os.spawnv(os.P_WAIT, sys.executable, [sys.executable, 'child.py'])",
        "subprocess.run([sys.executable, '-c', 'import subprocess, sys; subprocess.run([sys.executable, \"child.py\"], check=True)'], check=True)",
    ],
)
def test_python_is_followed(dependencies, code, mode):
    report = dependencies(dict(CHILD, **{"test_it.py": "import os, subprocess, sys\ndef test_a():\n    %s" % code}), mode=mode)
    assert {"child.py", "helper.py"} <= set(report["executed"])
    assert "data.txt" in report["read"] and report["unknown"] == []
    if mode == "function":
        assert report["executed"]["helper.py"] == ["<module>", "f"]


def test_followed_python_does_not_see_the_watch(dependencies):
    child = "import os, sys\nassert os.environ.get('PYTHONPATH') is None\nassert not [n for n in os.environ if 'UNFLAKE' in n]\n"
    child += "assert not [p for p in sys.path if 'follow' in p]\n"
    report = dependencies({"child.py": child, "test_it.py": "import subprocess, sys\ndef test_a(): subprocess.check_call([sys.executable, 'child.py'])"})
    assert report["unknown"] == []


@pytest.mark.parametrize("option", ["-I", "-E", "-S"])
def test_python_that_cannot_be_followed(dependencies, option):
    report = dependencies(dict(CHILD, **{"test_it.py": "import subprocess, sys\ndef test_a(): subprocess.call([sys.executable, %r, '-c', ''])" % option}))
    assert "a Python process was not observed" in report["unknown"][0]


@pytest.mark.parametrize(
    "code, name",
    [
        ("subprocess.run(['sh', '-c', 'cat data.txt'])", "sh"),
        ("subprocess.run('cat data.txt', shell=True)", "/bin/sh"),
        ("os.system('cat data.txt')", "a shell"),
        ("subprocess.run(['cat', 'data.txt'])", "cat"),
    ],
)
def test_other_programs_are_unknown(dependencies, code, name):
    report = dependencies(dict(CHILD, **{"test_it.py": "import os, subprocess\ndef test_a(): %s" % code}))
    assert report["unknown"] == ["what %s does is not known" % name]
    assert [one["followed"] for one in report["programs"]] == [False]


def test_harmless_program(dependencies):
    report = dependencies("import subprocess\ndef test_a(): subprocess.run(['true'])")
    assert report["unknown"] == []


def test_missing_program(dependencies):
    report = dependencies("import pytest, subprocess\ndef test_a(): pytest.raises(OSError, subprocess.run, ['./tool'])")
    assert "tool" in report["missed"] and report["unknown"] == []


def test_process_that_outlives_its_test(dependencies):
    files = {"test_it.py": "import subprocess, sys, time\ndef test_a():\n    subprocess.Popen([sys.executable, '-c', 'import time; open(\"up\", \"w\"); time.sleep(3)'])\n"
             "    import os\n    while not os.path.exists('up'): time.sleep(0.01)\ndef test_b(): pass"}
    report = dependencies(files, 0, 1)
    assert "a process of an earlier test was still running" in report["unknown"][0]


@pytest.mark.parametrize("forked", [False, True])
def test_fork_is_followed(dependencies, forked):
    code = """
        import os
        def test_a():
            pid = os.fork()
            if not pid:
                import child
                os._exit(0)
            os.waitpid(pid, 0)
        """
    report = dependencies(dict(CHILD, **{"test_it.py": code}), forked=forked)
    assert {"child.py", "helper.py"} <= set(report["executed"])
    assert "data.txt" in report["read"] and report["unknown"] == []


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing_is_followed(dependencies, method):
    code = """
        import multiprocessing
        import work
        def test_a():
            process = multiprocessing.get_context(%r).Process(target=work.go)
            process.start(); process.join()
            assert process.exitcode == 0
        """
    report = dependencies(dict(CHILD, **{"test_it.py": code % method, "work.py": "def go():\n    import child"}))
    assert {"child.py", "helper.py", "work.py"} <= set(report["executed"])
    assert "data.txt" in report["read"] and report["unknown"] == []
