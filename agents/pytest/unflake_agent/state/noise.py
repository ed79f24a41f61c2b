"""What is never told: state that changes in every run of anything and that no test can fail for. PYTEST_DONT_REWRITE

Short on purpose. Whatever is told without need is removed by the proof, which puts cells back one by one; what is left
out here is never found. So each entry has its reason.
"""


def _names(*lines):
    return frozenset(" ".join(lines).split())


# Packages whose insides are the runner's, ours or a measuring tool's. They change with every test.
OURS = _names("_pytest pytest pluggy py _py iniconfig xdist execnet coverage pytest_cov unflake_agent")

# Classes of these modules make values that never change for their users, though they fill in parts of themselves when
# first used (a path its text, a type variable its hash), or belong to the importer.
OPAQUE = _names(
    "abc ast codecs fractions ipaddress pathlib re reprlib typing typing_extensions zoneinfo",
    "_frozen_importlib _frozen_importlib_external importlib zipimport _distutils_hack",
)

# Modules of the standard library whose globals, but for functions and classes, keep what was computed once.
CACHES = _names(
    "linecache tokenize inspect ast traceback",  # Lines and trees of sources.
    "re re._compiler re._parser sre_compile sre_parse fnmatch glob _strptime",  # Compiled patterns.
    "functools typing copyreg abc _py_abc _weakrefset unittest.case unittest.mock",  # By type or function.
    "encodings encodings.aliases platform sysconfig",  # Codecs that were found; what the machine is.
    "_frozen_importlib _frozen_importlib_external importlib._bootstrap importlib._bootstrap_external zipimport",
)

# Attributes of modules, classes and functions.
NAMES = _names(
    "__builtins__ __spec__ __loader__ __cached__ __dict__ __weakref__",  # Written by the importer and by `class`.
    "__annotations__ __annotations_cache__ __annotate__ __annotate_func__ __conditional_annotations__",  # When asked for.
    "__type_params__ __parameters__ __orig_bases__ __slotnames__",  # When first needed by `typing` and `copyreg`.
    "__abstractmethods__ _abc_impl _abc_registry _abc_cache _abc_negative_cache _abc_negative_cache_version",
    "__warningregistry__",  # Which warnings were shown.
    "tearDown_exceptions",  # What unittest notes of the last tear-down of a class.
)

# Attributes of loggers and handlers: whether a level is enabled, computed from levels, which are told; a lock that a fork
# makes anew.
LOGGER_NAMES = _names("_cache lock")

# Single attributes.
CELLS = _names(
    # Told as what they are: entries of `sys.modules`, environment variables, threads, random state, time zone.
    "sys.modules os.environ os.environb posix.environ random._inst",
    "threading._active threading._limbo threading._shutdown_locks threading._dangling threading._main_thread",
    "time.tzname time.timezone time.altzone time.daylight",
    # Numbers for the names of threads and files: nobody gets the same one twice.
    "threading._counter tempfile._name_sequence",
    # Locks that a fork makes anew.
    "threading._active_limbo_lock threading._shutdown_locks_lock logging._lock",
    # The last uncaught exception, the last printed value; directories that were searched for modules.
    "sys.last_type sys.last_value sys.last_traceback sys.last_exc builtins._ sys.path_importer_cache",
    # Count how often the importer forgot what it had found, and how often filters of warnings were changed.
    "_frozen_importlib_external._NamespacePath._epoch warnings._filters_version warnings.onceregistry",
    # Types that were found to be coroutines; a pattern that is compiled when first needed; that there is work at exit.
    "asyncio.coroutines._iscoroutine_typecache pkgutil._NAME_PATTERN",
    "weakref.finalize._dirty weakref.finalize._registered_with_atexit",
    # Processes that have ended and were not waited for; handlers by weak reference (those in use are told with their
    # loggers).
    "subprocess._active logging._handlerList logging._handlers",
)
