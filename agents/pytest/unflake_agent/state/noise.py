"""State that is never reported: it changes in every run, and no test fails because of it.

The lists are short on purpose. A cell reported without need costs one step of the proof, which
restores cells one by one; a cell listed here is never found. So each entry has its reason.
"""


def _names(*lines):
    return frozenset(" ".join(lines).split())


# Packages of the runner, the agent and measuring tools. They change with every test.
RUNNER_PACKAGES = _names("_pytest pytest pluggy py _py iniconfig xdist execnet coverage pytest_cov unflake_agent")

# Modules whose objects never change for their users, though they compute parts of themselves on
# first use (a path its text, a type variable its hash), or belong to the importer.
OPAQUE_MODULES = _names(
    "abc ast codecs fractions ipaddress pathlib re reprlib typing typing_extensions zoneinfo",
    "_frozen_importlib _frozen_importlib_external importlib zipimport _distutils_hack",
)

# Modules of the standard library whose globals cache results, except for functions and classes.
CACHING_MODULES = _names(
    "linecache tokenize inspect ast traceback",  # Lines and trees of sources.
    "re re._compiler re._parser sre_compile sre_parse fnmatch glob _strptime",  # Compiled patterns.
    # By type or function.
    "functools typing copyreg abc _py_abc _weakrefset unittest.case unittest.mock",
    "encodings encodings.aliases platform sysconfig",  # Codecs; properties of the machine.
    "_frozen_importlib _frozen_importlib_external importlib._bootstrap importlib._bootstrap_external zipimport",
)

# Attributes of modules, classes and functions.
ATTRIBUTES = _names(
    # Written by the importer and by `class`.
    "__builtins__ __spec__ __loader__ __cached__ __dict__ __weakref__",
    # Computed on demand, by the interpreter, `typing` and `copyreg`.
    "__annotations__ __annotations_cache__ __annotate__ __annotate_func__ __conditional_annotations__",
    "__type_params__ __parameters__ __orig_bases__ __slotnames__",
    "__abstractmethods__ _abc_impl _abc_registry _abc_cache _abc_negative_cache _abc_negative_cache_version",
    "__warningregistry__",  # Which warnings were shown.
    "tearDown_exceptions",  # Errors of the last tear-down of a unittest class.
)

# Attributes of loggers and handlers: a cache computed from levels, which are reported; a lock that
# a fork replaces.
LOGGER_ATTRIBUTES = _names("_cache lock")

# Single attributes.
SINGLE_CELLS = _names(
    # Reported as groups: loaded modules, environment variables, threads, random state, time zone.
    "sys.modules os.environ os.environb posix.environ random._inst",
    "threading._active threading._limbo threading._shutdown_locks threading._dangling threading._main_thread",
    "time.tzname time.timezone time.altzone time.daylight",
    # Counters for the names of threads and files: no number is ever used twice.
    "threading._counter tempfile._name_sequence",
    # Locks that a fork replaces.
    "threading._active_limbo_lock threading._shutdown_locks_lock logging._lock",
    # The last uncaught exception, the last printed value, finders of modules by directory.
    "sys.last_type sys.last_value sys.last_traceback sys.last_exc builtins._ sys.path_importer_cache",
    # Version counters of the importer's caches and of the warning filters.
    "_frozen_importlib_external._NamespacePath._epoch warnings._filters_version warnings.onceregistry",
    # Types known to be coroutines, a pattern compiled on demand, whether finalizers are registered.
    "asyncio.coroutines._iscoroutine_typecache pkgutil._NAME_PATTERN",
    "weakref.finalize._dirty weakref.finalize._registered_with_atexit",
    # Processes that ended and were not waited for; weak references to handlers (handlers in use are
    # reported with their loggers).
    "subprocess._active logging._handlerList logging._handlers",
)
