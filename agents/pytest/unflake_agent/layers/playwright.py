"""Steps of tests that use Playwright, in either of its ways to be called. PYTEST_DONT_REWRITE"""

import functools
import weakref

from .interface import address
from .accessibility_tree import of_snapshot

# What a person does, by class; with whether the first argument says where in the page.
POINTING = "click dblclick tap fill press type check uncheck set_checked select_option set_input_files hover".split()
MOVING = "goto reload go_back go_forward set_content".split()
STEPS = {
    "Page": (POINTING + MOVING + ["drag_and_drop"], True),
    "Frame": (POINTING + ["goto", "set_content", "drag_and_drop"], True),
    "Locator": (POINTING + ["clear", "press_sequentially", "drag_to"], False),
    "ElementHandle": (POINTING, False),
    "Keyboard": (["press", "type", "insert_text"], False),
    "Mouse": (["click", "dblclick", "up", "wheel"], False),
    "Touchscreen": (["tap"], False),
}
CLOSING = "Page", "BrowserContext", "Browser"
# In milliseconds. The page is there; this is for one that answers nobody.
PATIENCE = 1000
# Whose page is not known by themselves.
HANDS = "keyboard", "mouse", "touchscreen"


def watch(module, interface, is_async):
    looks = Looks(interface)
    for name, (methods, _) in STEPS.items():
        kind = getattr(module, name, None)
        for method in methods:
            if kind is not None and method in vars(kind):
                setattr(kind, method, (looks.async_step if is_async else looks.step)(vars(kind)[method], name))
    for name in CLOSING:
        kind = getattr(module, name)
        setattr(kind, "close", (looks.async_close if is_async else looks.close)(vars(kind)["close"]))
    for hand in HANDS:
        setattr(module.Page, hand, looks.hand(vars(module.Page)[hand]))


class Looks:
    def __init__(self, interface):
        self._interface = interface
        self._hands = {}

    # -- As a page is used by calls -----------------------------------------------------------------------------------

    def step(self, method, kind):
        @functools.wraps(method)
        def step(self, *arguments, **named):
            __tracebackhide__ = True
            result = method(self, *arguments, **named)
            words = _words(self, kind, method.__name__, arguments, named)
            try:
                page = looks._page(self, self.owner_frame() if kind == "ElementHandle" else None)
            except Exception as error:
                looks._interface.gap(words, error)
                return result
            if page is None:
                looks._interface.unknown(words)
            elif looks._interface.wants(page, looks._look):
                looks._look(words, page)
            return result

        looks = self
        return step

    def _look(self, action, page):
        if page.is_closed():
            return
        try:
            root = page.locator(":root")
            tree, text = root.aria_snapshot(timeout=PATIENCE), root.inner_text(timeout=PATIENCE)
            self._interface.tell(action, page.url, of_snapshot(tree), text)
        except Exception as error:
            self._interface.gap(action, error)

    def close(self, method):
        @functools.wraps(method)
        def close(self, *arguments, **named):
            __tracebackhide__ = True
            for page in looks._interface.to_be_closed(lambda page: _is_in(page, self)):
                looks._look("before it is closed", page)
            return method(self, *arguments, **named)

        looks = self
        return close

    # -- As a page is used by coroutines ------------------------------------------------------------------------------

    def async_step(self, method, kind):
        @functools.wraps(method)
        async def step(self, *arguments, **named):
            __tracebackhide__ = True
            result = await method(self, *arguments, **named)
            words = _words(self, kind, method.__name__, arguments, named)
            try:
                page = looks._page(self, await self.owner_frame() if kind == "ElementHandle" else None)
            except Exception as error:
                looks._interface.gap(words, error)
                return result
            if page is None:
                looks._interface.unknown(words)
            elif looks._interface.wants(page):
                await looks._async_look(words, page)
            return result

        looks = self
        return step

    async def _async_look(self, action, page):
        if page.is_closed():
            return
        try:
            root = page.locator(":root")
            tree, text = await root.aria_snapshot(timeout=PATIENCE), await root.inner_text(timeout=PATIENCE)
            self._interface.tell(action, page.url, of_snapshot(tree), text)
        except Exception as error:
            self._interface.gap(action, error)

    def async_close(self, method):
        @functools.wraps(method)
        async def close(self, *arguments, **named):
            __tracebackhide__ = True
            for page in looks._interface.to_be_closed(lambda page: _is_in(page, self)):
                await looks._async_look("before it is closed", page)
            return await method(self, *arguments, **named)

        looks = self
        return close

    # -- Which page ---------------------------------------------------------------------------------------------------

    def hand(self, known):
        def get(page):
            hand = known.fget(page)
            looks._hands[id(hand)] = weakref.ref(hand), weakref.ref(page)
            return hand

        looks = self
        return property(get, doc=known.__doc__)

    def _page(self, used, frame):
        """`frame`: the one that an element is in."""
        hand, page = self._hands.get(id(used), (None, None))
        if hand is not None and hand() is used:
            return page()
        if hasattr(used, "is_closed"):
            return used
        return getattr(used if frame is None else frame, "page", None)


def _is_in(page, owner):
    context = page.context
    return owner is page or owner is context or owner is context.browser


def _words(used, kind, method, arguments, named):
    """What was done, and where as the test has it. Not what was typed: that may be a secret, and is seen in the page if it can be."""
    where = None
    if kind == "Locator":
        where = getattr(getattr(used, "_impl_obj", None), "_selector", None)
    elif method in ("goto",):
        where = address(str(arguments[0] if arguments else named.get("url")))
    elif STEPS[kind][1] and method not in MOVING or method == "press":
        names = "selector", "source", "key"
        where = arguments[0] if arguments else next((named[name] for name in names if name in named), None)
    words = method.replace("_", " ")
    return words if where is None else "%s %s" % (words, str(where).replace("internal:", ""))
