"""Instruments the pages of Playwright, in its synchronous and asynchronous API."""

import functools
import weakref

from ..common.boundary import guarded
from .accessibility_tree import of_snapshot
from .interface import address

# Methods that are steps of a person, by class; and whether their first argument is a selector.
POINTING = "click dblclick tap fill press type check uncheck set_checked select_option set_input_files hover".split()
NAVIGATION = "goto reload go_back go_forward set_content".split()
STEPS = {
    "Page": (POINTING + NAVIGATION + ["drag_and_drop"], True),
    "Frame": (POINTING + ["goto", "set_content", "drag_and_drop"], True),
    "Locator": (POINTING + ["clear", "press_sequentially", "drag_to"], False),
    "ElementHandle": (POINTING, False),
    "Keyboard": (["press", "type", "insert_text"], False),
    "Mouse": (["click", "dblclick", "up", "wheel"], False),
    "Touchscreen": (["tap"], False),
}
CLOSABLE = "Page", "BrowserContext", "Browser"
# In milliseconds. The page exists already; this is for one that does not answer.
TIMEOUT = 1000
# Objects that do not know their page.
INPUT_DEVICES = "keyboard", "mouse", "touchscreen"


def instrument(module, interface):
    steps = PlaywrightSteps(interface)
    is_async = "async_api" in module.__name__
    for name, (methods, _) in STEPS.items():
        cls = getattr(module, name, None)
        for method in methods:
            if cls is not None and method in vars(cls):
                setattr(cls, method, (steps.async_step if is_async else steps.step)(vars(cls)[method], name))
    for name in CLOSABLE:
        cls = getattr(module, name)
        setattr(cls, "close", (steps.async_close if is_async else steps.close)(vars(cls)["close"]))
    for device in INPUT_DEVICES:
        setattr(module.Page, device, steps.device(vars(module.Page)[device]))


class PlaywrightSteps:
    def __init__(self, interface):
        self._interface = interface
        self._devices = {}

    # -- Synchronous -------------------------------------------------------------------------------

    def step(self, method, cls):
        @functools.wraps(method)
        def step(self, *arguments, **named):
            __tracebackhide__ = True
            result = method(self, *arguments, **named)
            action = _action(self, cls, method.__name__, arguments, named)
            try:
                page = steps._page(self, self.owner_frame() if cls == "ElementHandle" else None)
            except Exception as error:
                steps._interface.gap(action, error)
                return result
            if page is None:
                steps._interface.unknown_page(action)
            elif steps._interface.wants(page, steps._read):
                steps._read(action, page)
            return result

        steps = self
        return step

    def _read(self, action, page):
        if page.is_closed():
            return
        try:
            root = page.locator(":root")
            tree, text = root.aria_snapshot(timeout=TIMEOUT), root.inner_text(timeout=TIMEOUT)
            self._interface.record(action, page.url, of_snapshot(tree), text)
        except Exception as error:
            self._interface.gap(action, error)

    def close(self, method):
        @functools.wraps(method)
        def close(self, *arguments, **named):
            __tracebackhide__ = True
            for page in steps._interface.pages_to_close(lambda page: _is_in(page, self)):
                steps._read("before it is closed", page)
            return method(self, *arguments, **named)

        steps = self
        return close

    # -- Asynchronous ------------------------------------------------------------------------------

    def async_step(self, method, cls):
        @functools.wraps(method)
        async def step(self, *arguments, **named):
            __tracebackhide__ = True
            result = await method(self, *arguments, **named)
            action = _action(self, cls, method.__name__, arguments, named)
            try:
                page = steps._page(self, await self.owner_frame() if cls == "ElementHandle" else None)
            except Exception as error:
                steps._interface.gap(action, error)
                return result
            if page is None:
                steps._interface.unknown_page(action)
            elif steps._interface.wants(page):
                await steps._async_read(action, page)
            return result

        steps = self
        return step

    async def _async_read(self, action, page):
        if page.is_closed():
            return
        try:
            root = page.locator(":root")
            tree, text = await root.aria_snapshot(timeout=TIMEOUT), await root.inner_text(timeout=TIMEOUT)
            self._interface.record(action, page.url, of_snapshot(tree), text)
        except Exception as error:
            self._interface.gap(action, error)

    def async_close(self, method):
        @functools.wraps(method)
        async def close(self, *arguments, **named):
            __tracebackhide__ = True
            for page in steps._interface.pages_to_close(lambda page: _is_in(page, self)):
                await steps._async_read("before it is closed", page)
            return await method(self, *arguments, **named)

        steps = self
        return close

    # -- Pages -------------------------------------------------------------------------------------

    def device(self, original):
        def get(page):
            device = original.fget(page)
            steps._devices[id(device)] = weakref.ref(device), weakref.ref(page)
            return device

        steps = self
        return property(get, doc=original.__doc__)

    def _page(self, used, frame):
        """The page of an object. `frame`: of an element handle."""
        device, page = self._devices.get(id(used), (None, None))
        if device is not None and device() is used:
            return page()
        if hasattr(used, "is_closed"):
            return used
        return getattr(used if frame is None else frame, "page", None)


def _is_in(page, owner):
    context = page.context
    return owner is page or owner is context or owner is context.browser


@guarded
def _action(used, cls, method, arguments, named):
    """What was done and where. Not what was typed: it may be secret."""
    target = None
    if cls == "Locator":
        target = getattr(getattr(used, "_impl_obj", None), "_selector", None)
    elif method == "goto":
        target = address(str(arguments[0] if arguments else named.get("url")))
    elif STEPS[cls][1] and method not in NAVIGATION or method == "press":
        names = "selector", "source", "key"
        target = arguments[0] if arguments else next((named[name] for name in names if name in named), None)
    action = method.replace("_", " ")
    return action if target is None else "%s %s" % (action, str(target).replace("internal:", ""))
