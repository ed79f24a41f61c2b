"""Records what a person would see in a browser after each step of a Playwright or Selenium test.

The page is read right after the step, without waiting: that a page settles late is visible to a
person too, and waiting would hide differences between runs. A page that cannot be read is a gap,
and never affects the test.
"""

import threading

import pytest

from .. import load
from ..common.after_import import after_import
from ..common.boundary import guarded
from ..common.introspect import bounded

MAX_LINES, MAX_LINE_LENGTH = 2000, 500
MAX_ADDRESS_LENGTH = 300
LOOPBACK = "localhost", "127.", "[::1]", "0.0.0.0"
LAST_STEP = "at the end of the test"
PLAYWRIGHT = "playwright.sync_api._generated", "playwright.async_api._generated"
SELENIUM = (
    "selenium.webdriver.remote.webdriver",
    "selenium.webdriver.remote.webelement",
    "selenium.webdriver.common.action_chains",
    "selenium.webdriver.support.select",
)


class InterfaceRecorder:
    """The steps of the current attempt, and the pages in which they happened."""

    def __init__(self, file, config):
        self._file, self._thread = file, threading.get_ident
        self._in_attempt = False
        self._pages, self._finished, self._shared = {}, set(), {}
        for name in PLAYWRIGHT:
            after_import(name, lambda module: load("layers.playwright").instrument(module, self))
        for name in SELENIUM:
            after_import(name, lambda module: load("layers.selenium").instrument(module, self))
        config.pluginmanager.register(self, "unflake-interface")

    def begin(self, item):
        self._pages, self._finished = {}, set()
        self._in_attempt = True

    def end(self, item):
        self._in_attempt = False
        self._pages = {}

    def shared(self, cls):
        """The only instance of this class."""
        if cls not in self._shared:
            self._shared[cls] = cls(self)
        return self._shared[cls]

    @guarded
    def wants(self, page, read=None):
        """Whether a step in this page is to be recorded. `read` reads the page once more later."""
        if self._in_attempt:
            self._pages[id(page)] = page, read, self._thread()
        return self._in_attempt

    @guarded
    def record(self, action, url, tree, text):
        if len(tree) > MAX_LINES:
            self._file.gap("interface", "a very long accessibility tree was truncated")
        truncate = self._file.truncate
        lines = [bounded(line, MAX_LINE_LENGTH) for line in tree[:MAX_LINES]]
        self._file.write(["step", truncate(action), address(url), lines, truncate(text)])

    @guarded
    def gap(self, action, error):
        self._file.gap("interface", "the page could not be read (%s): %s" % (action, type(error).__name__))

    @guarded
    def unknown_page(self, action):
        self._file.gap("interface", "the page could not be read (%s): its window is unknown" % action)

    # -- The last step -----------------------------------------------------------------------------

    @guarded
    def pages_to_close(self, is_meant):
        """The pages among those to be closed whose last state is not recorded yet."""
        found = [page for page, _, _ in list(self._pages.values()) if id(page) not in self._finished and is_meant(page)]
        self._finished.update(map(id, found))
        return found if self._in_attempt else []

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item):
        yield
        here = self._thread()
        for page, read, thread in list(self._pages.values()):
            # A page can only be used in the thread that opened it.
            if read is not None and thread == here and id(page) not in self._finished:
                self._finished.add(id(page))
                read(LAST_STEP, page)


def address(url):
    """A URL without the host of a local server: test servers have another port each time."""
    scheme, mark, rest = url.partition("://")
    if mark and scheme in ("http", "https"):
        host, _, path = rest.partition("/")
        url = "/" + path if host.startswith(LOOPBACK) else "//" + rest
    return url[:MAX_ADDRESS_LENGTH]
