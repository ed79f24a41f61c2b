"""What is never told: state that changes in every run of anything and that no test can fail for. PYTEST_DONT_REWRITE

Short on purpose. Whatever is told without need is removed by the proof, which puts cells back one by one; what is left
out here is never found. So each entry has its reason.
"""

# Packages whose insides are the runner's, ours or a measuring tool's. They change with every test.
OURS = frozenset(("_pytest", "pytest", "pluggy", "py", "_py", "iniconfig", "unflake_agent", "coverage", "pytest_cov", "xdist", "execnet"))

# Classes of these modules make values that never change for their users, though they fill in parts of themselves when
# first used (a path its text, a type variable its hash), or belong to the importer.
OPAQUE = frozenset(
    ("abc", "ast", "codecs", "_frozen_importlib", "_frozen_importlib_external", "fractions", "importlib", "ipaddress", "pathlib")
    + ("re", "typing", "typing_extensions", "zipimport", "zoneinfo", "six", "_distutils_hack", "reprlib")
)

# Modules of the standard library whose globals, but for functions and classes, are caches of what was computed.
CACHES = frozenset(
    ("linecache", "tokenize", "typing", "copyreg", "functools", "abc", "_py_abc", "_weakrefset", "zipimport", "sre_compile")
    + ("sre_parse", "re", "re._compiler", "re._parser", "fnmatch", "glob", "inspect", "ast", "encodings", "encodings.aliases")
    + ("_strptime", "struct", "_struct", "platform", "sysconfig", "pickle", "_pickle", "traceback", "genericpath", "keyword")
    + ("unittest.case", "unittest.mock", "_frozen_importlib", "_frozen_importlib_external", "importlib._bootstrap")
    + ("importlib._bootstrap_external", "_imp", "marshal", "gc", "_io", "errno", "token", "opcode", "dis", "_opcode")
)

# Attributes of modules, classes and functions that the interpreter and the importer write by themselves.
NAMES = frozenset(
    ("__warningregistry__", "__annotations__", "__annotations_cache__", "__annotate__", "__annotate_func__", "__builtins__")
    + ("__spec__", "__loader__", "__cached__", "__dict__", "__weakref__", "__abstractmethods__", "_abc_impl")
    + ("_abc_registry", "_abc_cache", "_abc_negative_cache", "_abc_negative_cache_version", "__conditional_annotations__")
    + ("__type_params__", "__parameters__", "__orig_bases__", "__slotnames__")
    # What unittest notes of the last tear-down of a class.
    + ("tearDown_exceptions",)
)

# Single globals of the standard library.
CELLS = frozenset(
    # Told as what they are: `sys.modules` entries, environment variables, threads, random state.
    ("sys.modules", "os.environ", "os.environb", "threading._active", "threading._limbo", "threading._shutdown_locks")
    + ("threading._dangling", "threading._shutdown_locks_lock", "threading._main_thread", "random._inst", "time.tzname", "time.timezone")
    + ("time.altzone", "time.daylight", "posix.environ", "_random.Random")
    # Numbers for the names of threads and files: nobody sees the same one twice.
    + ("threading._counter", "threading._active_limbo_lock", "tempfile._name_sequence", "os._wrap_close")
    # Of the last uncaught exception and the last printed value; of directories that were searched for modules.
    + ("sys.last_type", "sys.last_value", "sys.last_traceback", "sys.last_exc", "sys.path_importer_cache", "builtins._")
    # Counts how often the importer forgot what it had found.
    + ("_frozen_importlib_external._NamespacePath._epoch",)
    # Counts how often the filters were changed; the filters themselves are told.
    + ("warnings._filters_version", "warnings.onceregistry", "_warnings._onceregistry", "_warnings._defaultaction")
    # Types that were found to be coroutines; a pattern that is compiled when first needed; what `weakref` has to do at exit.
    + ("asyncio.coroutines._iscoroutine_typecache", "pkgutil._NAME_PATTERN")
    + ("weakref.finalize._dirty", "weakref.finalize._registered_with_atexit")
    # Processes that have ended and were not waited for.
    + ("subprocess._active",)
    # Handlers by weak reference, for the end; those in use are told with their loggers.
    + ("logging._handlerList", "logging._handlers", "logging._lock")
)
# Of loggers and handlers: whether a level is enabled, computed from levels, which are told; a lock, made anew by a fork.
LOGGER_NAMES = frozenset(("_cache", "lock"))
