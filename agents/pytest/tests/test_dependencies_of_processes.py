"""What a test depended on through processes that it started."""

import pytest

FUNCTION = {"UNFLAKE_DEPENDENCIES": "function"}
FILE = {"UNFLAKE_DEPENDENCIES": "file"}

CHILD = {"child.py": "import helper\nopen('data.txt').close()\nhelper.f()", "helper.py": "def f(): pass", "data.txt": ""}


@pytest.mark.parametrize("mode", [FILE, FUNCTION], ids=["file", "function"])
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
def test_a_python_is_followed(depends, code, mode):
    told = depends(dict(CHILD, **{"test_it.py": "import os, subprocess, sys\ndef test_a():\n    %s" % code}), mode=mode)
    assert {"child.py", "helper.py"} <= set(told["executed"])
    assert "data.txt" in told["read"] and told["unknown"] == []
    if mode is FUNCTION:
        assert told["executed"]["helper.py"] == ["<module>", "f"]


def test_a_python_that_is_followed_does_not_see_it(depends):
    child = "import os, sys\nassert os.environ.get('PYTHONPATH') is None\nassert not [n for n in os.environ if 'UNFLAKE' in n]\n"
    child += "assert not [p for p in sys.path if 'follow' in p]\n"
    told = depends({"child.py": child, "test_it.py": "import subprocess, sys\ndef test_a(): subprocess.check_call([sys.executable, 'child.py'])"})
    assert told["unknown"] == []


@pytest.mark.parametrize("option", ["-I", "-E", "-S"])
def test_a_python_that_cannot_be_followed(depends, option):
    told = depends(dict(CHILD, **{"test_it.py": "import subprocess, sys\ndef test_a(): subprocess.call([sys.executable, %r, '-c', ''])" % option}))
    assert "a Python that could not be followed" in told["unknown"][0]


@pytest.mark.parametrize(
    "code, name",
    [
        ("subprocess.run(['sh', '-c', 'cat data.txt'])", "sh"),
        ("subprocess.run('cat data.txt', shell=True)", "/bin/sh"),
        ("os.system('cat data.txt')", "a shell"),
        ("subprocess.run(['cat', 'data.txt'])", "cat"),
    ],
)
def test_another_program_is_not_known(depends, code, name):
    told = depends(dict(CHILD, **{"test_it.py": "import os, subprocess\ndef test_a(): %s" % code}))
    assert told["unknown"] == ["what %s does is not known" % name]
    assert [one["followed"] for one in told["programs"]] == [False]


def test_a_harmless_program(depends):
    told = depends("import subprocess\ndef test_a(): subprocess.run(['true'])")
    assert told["unknown"] == []


def test_a_program_that_is_not_there(depends):
    told = depends("import pytest, subprocess\ndef test_a(): pytest.raises(OSError, subprocess.run, ['./tool'])")
    assert "tool" in told["missed"] and told["unknown"] == []


def test_a_process_that_goes_on(depends):
    files = {"test_it.py": "import subprocess, sys, time\ndef test_a():\n    subprocess.Popen([sys.executable, '-c', 'import time; open(\"up\", \"w\"); time.sleep(3)'])\n"
             "    import os\n    while not os.path.exists('up'): time.sleep(0.01)\ndef test_b(): pass"}
    told = depends(files, 0, 1)
    assert "a process of an earlier test went on" in told["unknown"][0]


@pytest.mark.parametrize("forked", [False, True])
def test_a_fork_is_followed(depends, forked):
    code = """
        import os
        def test_a():
            pid = os.fork()
            if not pid:
                import child
                os._exit(0)
            os.waitpid(pid, 0)
        """
    told = depends(dict(CHILD, **{"test_it.py": code}), forked=forked)
    assert {"child.py", "helper.py"} <= set(told["executed"])
    assert "data.txt" in told["read"] and told["unknown"] == []


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_multiprocessing_is_followed(depends, way):
    code = """
        import multiprocessing
        import work
        def test_a():
            process = multiprocessing.get_context(%r).Process(target=work.go)
            process.start(); process.join()
            assert process.exitcode == 0
        """
    told = depends(dict(CHILD, **{"test_it.py": code % way, "work.py": "def go():\n    import child"}))
    assert {"child.py", "helper.py", "work.py"} <= set(told["executed"])
    assert "data.txt" in told["read"] and told["unknown"] == []
