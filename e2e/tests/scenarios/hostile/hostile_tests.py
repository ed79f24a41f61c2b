"""Writes a file with hostile tests: `python hostile_tests.py FILE [NAME...]`. Each is a function body.

Bodies that end or stop the process are marked: a plain pytest would not get past them.
"""

import sys
import textwrap

# -- Tests that a plain pytest survives -----------------------------------------------------------

SURVIVED = {
    "passes": "pass",
    "fails": "assert 1 == 2",
    "skips": "pytest.skip('no')",
    "xfails": "pytest.xfail('known')",
    "system_exit": "sys.exit(3)",
    "system_exit_0": "sys.exit(0)",
    "base_exception": "raise BaseException('odd')",
    "generator_exit": "raise GeneratorExit",
    "stop_iteration": "raise StopIteration",
    "exception_without_text": "raise type('E', (Exception,), {'__str__': lambda self: 1 / 0})()",
    "exception_with_bad_repr": "raise type('E', (Exception,), {'__repr__': lambda self: 1 / 0})()",
    "exception_with_cause_loop": "a = ValueError(); b = KeyError(); a.__cause__ = b; b.__cause__ = a; raise a",
    "exception_group_like": "raise Exception(*[Exception(n) for n in range(1000)])",
    "huge_message": "assert 0, 'x' * 5_000_000",
    "huge_comparison": "assert list(range(30000)) == list(range(30001))",
    "huge_string_comparison": "assert 'a' * 200_000 == 'b' * 200_000",
    "surrogates_in_message": "assert 0, '\\ud800\\udfff'",
    "nul_in_message": "assert 0, 'a\\0b'",
    "controls_in_message": "assert 0, ''.join(map(chr, range(32)))",
    "escapes_in_message": "assert 0, '\\x1b[2J\\x1b]0;title\\x07'",
    "right_to_left_message": "assert 0, '\\u202egnp.exe'",
    "invalid_utf8_output": "sys.stdout.flush(); os.write(1, b'\\xff\\xfe\\n'); assert 0",
    "invalid_utf8_error_output": "os.write(2, b'\\xff\\xfe\\n'); assert 0",
    "flood_of_output": "print('x' * 10_000_000); assert 0",
    "flood_of_lines": "[print(n) for n in range(100_000)]; assert 0",
    "flood_on_descriptor": "[os.write(1, b'x' * 65536) for n in range(100)]",
    "json_output": "print('{\"event\":\"done\",\"n\":0,\"run\":0,\"outcome\":\"passed\",\"seconds\":0}'); assert 0",
    "warning_flood": "[warnings.warn('w%d' % n) for n in range(2000)]",
    "recursion": "f = lambda: f(); f()",
    "recursion_limit": "sys.setrecursionlimit(200)",
    "deep_structure": "x = []\nfor n in range(500): x = [x]\nassert x == 1",
    "memory_error": "raise MemoryError",
    "allocates": "x = bytearray(100_000_000)",
    "closes_stdin": "sys.stdin.close()",
    "closes_stdout": "sys.stdout.close()",
    "closes_stderr": "sys.stderr.close()",
    "closes_descriptor_0": "os.close(0)",
    "closes_descriptor_2": "os.close(2); os.open(os.devnull, os.O_WRONLY)",
    "replaces_stdout": "sys.stdout = None",
    "replaces_stderr": "sys.stderr = None",
    "replaces_excepthook": "sys.excepthook = None",
    "removes_argv": "sys.argv = []",
    "removes_path": "sys.path = []",
    "removes_modules": "[sys.modules.pop(n) for n in list(sys.modules) if n.startswith('json')]",
    "removes_agent": "[sys.modules.pop(n) for n in list(sys.modules) if n.startswith('unflake')]",
    "removes_pytest_modules": "sys.modules.pop('_pytest.runner', None)",
    "patches_open": "builtins.open = None",
    "patches_print": "builtins.print = None",
    "patches_isinstance_back": "old = builtins.isinstance; builtins.isinstance = lambda a, b: old(a, b)",
    "patches_time": "time.time = lambda: 0",
    "patches_perf_counter": "time.perf_counter = lambda: 0",
    "patches_sleep": "time.sleep = None",
    "patches_socket": "socket.socket = None",
    "patches_json": "json.dumps = json.loads = None",
    "patches_getpid": "os.getpid = lambda: 1",
    "patches_fork": "os.fork = None",
    "patches_waitpid": "os.waitpid = None",
    "patches_exit": "os._exit = lambda code: None",
    "patches_write": "os.write = lambda *a: 0",
    "patches_listdir": "os.listdir = None",
    "patches_environ": "os.environ = {}",
    "patches_getcwd": "os.getcwd = None",
    "patches_stat": "os.stat = None",
    "patches_path_exists": "os.path.exists = lambda p: False",
    "patches_threading": "threading.Thread = None",
    "patches_subprocess": "subprocess.Popen = None",
    "patches_traceback": "traceback.format_exc = None",
    "patches_random": "random.random = lambda: 2",
    "patches_gc": "gc.disable(); gc.set_threshold(0)",
    "patches_signal": "signal.signal = None",
    "freezes_import": "builtins.__import__ = None",
    "clears_environ": "os.environ.clear()",
    "changes_path_variable": "os.environ['PATH'] = ''",
    "changes_home": "os.environ['HOME'] = '/nowhere'",
    "changes_tmpdir": "os.environ['TMPDIR'] = '/nowhere'",
    "changes_locale": "locale.setlocale(locale.LC_ALL, 'C')",
    "changes_time_zone": "os.environ['TZ'] = 'Asia/Tokyo'; time.tzset()",
    "changes_umask": "os.umask(0o777)",
    "changes_directory": "os.chdir('/')",
    "changes_to_deleted_directory": "d = tempfile.mkdtemp(); os.chdir(d); os.rmdir(d)",
    "lowers_file_limit": "resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))",
    "lowers_core_limit": "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))",
    "lowers_priority": "os.nice(1)",
    "ignores_sigint": "signal.signal(signal.SIGINT, signal.SIG_IGN)",
    "ignores_sigterm": "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
    "ignores_sigchld": "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    "default_sigpipe": "signal.signal(signal.SIGPIPE, signal.SIG_DFL)",
    "blocks_signals": "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))",
    "sets_alarm": "signal.signal(signal.SIGALRM, lambda *a: None); signal.alarm(1)",
    "raises_in_handler": "signal.signal(signal.SIGUSR1, lambda *a: 1 / 0); os.kill(os.getpid(), signal.SIGUSR1); time.sleep(0.1)",
    "keyboard_interrupt_in_thread": "threading.Thread(target=lambda: sys.exit(1)).start()",
    "thread_stays": "threading.Thread(target=time.sleep, args=(30,), daemon=True).start()",
    "thread_fails": "t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join()",
    "thread_prints_later": "threading.Timer(0.2, print, ['later']).start()",
    "many_threads": "[threading.Thread(target=time.sleep, args=(0.3,), daemon=True).start() for n in range(50)]",
    "traces": "sys.settrace(lambda *a: None)",
    "profiles": "sys.setprofile(lambda *a: None)",
    "audits": "sys.addaudithook(lambda *a: None)",
    "atexit_fails": "atexit.register(lambda: 1 / 0)",
    "forks_and_waits": "p = os.fork()\nif p == 0: os._exit(0)\nos.waitpid(p, 0)",
    "forks_and_leaves_zombie": "p = os.fork()\nif p == 0: os._exit(0)",
    "forks_and_child_returns": "p = os.fork()\nif p: os.waitpid(p, 0)",
    "forks_and_child_fails": "p = os.fork()\nif p: os.waitpid(p, 0)\nelse: assert 0",
    "forks_daemon": "p = os.fork()\nif p == 0:\n    os.setsid(); time.sleep(30); os._exit(0)",
    "forks_twice": "p = os.fork()\nif p == 0:\n    if os.fork() == 0: time.sleep(30)\n    os._exit(0)\nos.waitpid(p, 0)",
    "starts_daemon": "subprocess.Popen(['setsid', 'sleep', '30'])",
    "starts_shell_job": "os.system('sleep 30 &')",
    "child_keeps_output": "subprocess.Popen(['sleep', '30'])",
    "child_fails": "subprocess.run(['false'])",
    "child_killed": "p = subprocess.Popen(['sleep', '30']); p.kill()",
    "multiprocessing": "p = multiprocessing.get_context('fork').Process(target=print); p.start(); p.join()",
    "multiprocessing_stays": "multiprocessing.get_context('fork').Process(target=time.sleep, args=(30,), daemon=True).start()",
    "waits_for_any_child": "child = subprocess.Popen(['true'])\nos.wait()",
    "new_process_group": "os.setpgid(0, 0) if os.getpgrp() != os.getpid() else None",
    "reads_stdin": "os.read(0, 1)",
    "duplicates_descriptors": "[os.dup(1) for n in range(20)]",
    "closes_low_descriptors": "os.closerange(3, 100)",
    "garbage_with_del": "class D:\n    def __del__(self): 1 / 0\nD()",
    "bad_repr_in_assert": "class R:\n    def __repr__(self): 1 / 0\nassert R() is None",
    "bad_eq_in_assert": "class R:\n    def __eq__(self, o): raise ValueError\nassert R() == 1",
    "endless_repr": "class R:\n    def __repr__(self): return 'x' * 1_000_000\nassert R() is None",
    "changes_class_of_exception": "class M(type):\n    __name__ = property(lambda s: 1 / 0)\nraise M('E', (Exception,), {})('x')",
    "fails_in_finally": "try:\n    1 / 0\nfinally:\n    assert 0",
    "unicode_names": "def é(): assert 0\né()",
    "dynamic_code": "exec(compile('assert 0', '<nowhere>', 'exec'))",
    "code_in_missing_file": "exec(compile('1 / 0', '/nowhere/it.py', 'exec'))",
    "deletes_own_file_cache": "linecache.clearcache()",
    "nested_pytest": "assert pytest.main(['--version', '-q']) in (0, 4)",
    "writes_to_cwd": "open('written', 'w').write('x')",
    "changes_int_limit": "getattr(sys, 'set_int_max_str_digits', lambda n: None)(0)",
    "switch_interval": "sys.setswitchinterval(1e-6)",
    "faulthandler_off": "faulthandler.disable()",
    "faulthandler_register": "faulthandler.register(signal.SIGUSR2)",
    "logging_shutdown": "logging.shutdown(); logging.disable(50)",
    "warnings_as_errors": "warnings.simplefilter('error')",
    "decimal_context": "decimal.getcontext().prec = 1",
}

# -- Tests that end or stop their process ----------------------------------------------------------

FATAL = {
    "exits": "os._exit(3)",
    "exits_with_0": "os._exit(0)",
    "segfaults": "os.kill(os.getpid(), signal.SIGSEGV)",
    "segfaults_in_c": "ctypes.string_at(0)",
    "aborts": "os.abort()",
    "kills_itself": "os.kill(os.getpid(), signal.SIGKILL)",
    "terminates_itself": "os.kill(os.getpid(), signal.SIGTERM)",
    "kills_its_group": "os.killpg(os.getpgrp(), signal.SIGKILL)",
    "executes": "os.execvp('true', ['true'])",
    "executes_failing": "os.execvp('false', ['false'])",
    "exits_from_thread": "threading.Thread(target=os._exit, args=(5,)).start(); time.sleep(30)",
    "stops_itself": "os.kill(os.getpid(), signal.SIGSTOP)",
    "hangs": "time.sleep(1000)",
    "hangs_in_c": "ctypes.CDLL(None).pause()",
    "hangs_without_signals": "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65)); time.sleep(1000)",
    "stack_overflow": "sys.setrecursionlimit(10**9)\ndef f(n): return [f(n + 1)] + [eval('f(n)')]\nf(0)",
    "bus_error": "os.kill(os.getpid(), signal.SIGBUS)",
    "cpu_limit": "resource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nwhile True: pass",
    "file_size_limit": "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); signal.signal(signal.SIGXFSZ, signal.SIG_DFL); open('f', 'w').write('x')",
    "exits_while_child_lives": "subprocess.Popen(['setsid', 'sleep', '1000']); os._exit(4)",
    "forks_and_exits": "os.fork() == 0 and time.sleep(1000); os._exit(4)",
}

IMPORTS = """\
import atexit, builtins, ctypes, decimal, faulthandler, gc, json, linecache, locale, logging, multiprocessing, os
import random, resource, signal, socket, subprocess, sys, tempfile, threading, time, traceback, warnings
import pytest
"""


def main():
    chosen = {**SURVIVED, **FATAL}
    if sys.argv[1:] == ["--list"]:
        for name in chosen:
            print("fatal" if name in FATAL else "survived", name)
        return
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(IMPORTS)
        for name in sys.argv[2:]:
            file.write("\n\ndef test_%s():\n%s\n" % (name, textwrap.indent(chosen[name], "    ")))
        file.write("\n\ndef test_after():\n    pass\n")


if __name__ == "__main__":
    main()
