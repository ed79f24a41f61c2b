"""What a person would see in a browser after each step of theirs, in tests that use Playwright or Selenium. PYTEST_DONT_REWRITE

It is looked at right after the step, without waiting for anything: a page that settles only later is what a person sees too, and
waiting would hide what differs from run to run. A page that cannot be looked at is told as a gap, and is nothing to the test.
`layer_playwright` and `layer_selenium` know how to look, `layer_trees` how an accessibility tree becomes lines.
"""

import sys
import threading

import pytest

from .. import bring

MOST_LINES, MOST_OF_A_LINE = 2000, 500
MOST_ADDRESS = 300
LOOPBACK = "localhost", "127.", "[::1]", "0.0.0.0"
LAST = "at the end of the test"


class Interface:
    """Steps of the attempt that is going on, and the pages they were made in."""

    def __init__(self, sheet, config):
        self._sheet, self._thread = sheet, threading.get_ident
        self._in_attempt = False
        self._pages, self._done, self._shared = {}, set(), {}
        when_imported(
            {
                "playwright.sync_api._generated": lambda module: bring("layers.playwright").watch(module, self, False),
                "playwright.async_api._generated": lambda module: bring("layers.playwright").watch(module, self, True),
                "selenium.webdriver.remote.webdriver": lambda module: bring("layers.selenium").watch(module, self),
                "selenium.webdriver.remote.webelement": lambda module: bring("layers.selenium").watch(module, self),
                "selenium.webdriver.common.action_chains": lambda module: bring("layers.selenium").watch(module, self),
                "selenium.webdriver.support.select": lambda module: bring("layers.selenium").watch(module, self),
            }
        )
        config.pluginmanager.register(self, "unflake-interface")

    def begin(self, item):
        self._pages, self._done = {}, set()
        self._in_attempt = True

    def end(self, item):
        self._in_attempt = False
        self._pages = {}

    def shared(self, kind):
        """The one of this class."""
        if kind not in self._shared:
            self._shared[kind] = kind(self)
        return self._shared[kind]

    def wants(self, page, look=None):
        """Whether a step in this page is to be told. `look`: looks at the page once more, when nothing else is going on."""
        if self._in_attempt:
            self._pages[id(page)] = page, look, self._thread()
        return self._in_attempt

    def tell(self, action, url, tree, text):
        if len(tree) > MOST_LINES:
            self._sheet.gap("interface", "of a page with a very long accessibility tree only the beginning is told")
        shorten = self._sheet.text
        lines = [line if len(line) <= MOST_OF_A_LINE else line[: MOST_OF_A_LINE - 1] + "…" for line in tree[:MOST_LINES]]
        self._sheet.tell(["step", shorten(action), address(url), lines, shorten(text)])

    def gap(self, action, error):
        self._sheet.gap("interface", "what could be seen (%s) is not known: %s" % (action, type(error).__name__))

    def unknown(self, action):
        self._sheet.gap("interface", "what could be seen (%s) is not known: nobody says in which page it was" % action)

    # -- The last look ------------------------------------------------------------------------------------------------

    def to_be_closed(self, is_meant):
        """Pages that nobody has looked at for the last time, before they are gone."""
        found = [page for page, _, _ in list(self._pages.values()) if id(page) not in self._done and is_meant(page)]
        self._done.update(map(id, found))
        return found if self._in_attempt else []

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item):
        yield
        here = self._thread()
        for page, look, thread in list(self._pages.values()):
            # A page belongs to the thread in which it was opened.
            if look is not None and thread == here and id(page) not in self._done:
                self._done.add(id(page))
                look(LAST, page)


def address(url):
    """Without what differs for no reason: servers of tests have other ports each time."""
    scheme, mark, rest = url.partition("://")
    if mark and scheme in ("http", "https"):
        host, _, path = rest.partition("/")
        url = "/" + path if host.startswith(LOOPBACK) else "//" + rest
    return url[:MOST_ADDRESS]


class Finder:
    """Has something done to a module as soon as it has been imported."""

    def __init__(self, actions):
        self._actions = actions

    def find_spec(self, name, path=None, target=None):
        action = self._actions.get(name)
        if action is None:
            return None
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target) if finder is not self and hasattr(finder, "find_spec") else None
            if spec is not None:
                load = spec.loader.exec_module

                def exec_module(module):
                    load(module)
                    action(module)

                spec.loader.exec_module = exec_module
                return spec
        return None


def when_imported(actions):
    for name, action in actions.items():
        if name in sys.modules:  # A plugin that is loaded before the agent has imported it.
            action(sys.modules[name])
    sys.meta_path.insert(0, Finder({name: action for name, action in actions.items() if name not in sys.modules}))
