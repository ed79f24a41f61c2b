"""Instruments the drivers and elements of Selenium."""

import functools
import threading

from .accessibility_tree import TREE_SCRIPT, of_chromium
from .interface import address

# Methods that are steps of a person, by class.
STEPS = {
    "WebDriver": "get back forward refresh",
    "WebElement": "click send_keys clear submit",
    "ActionChains": "perform",
    "Select": "select_by_value select_by_index select_by_visible_text "
    "deselect_all deselect_by_value deselect_by_index deselect_by_visible_text",
}
TEXT_SCRIPT = "return document.body ? document.body.innerText : ''"
MAX_TARGETS = 10_000


def instrument(module, interface):
    """Instruments the class of `STEPS` that this module defines."""
    steps = interface.shared(SeleniumSteps)
    for name, methods in STEPS.items():
        cls = getattr(module, name, None)
        if cls is not None and cls.__module__ == module.__name__:
            for method in methods.split():
                if method in vars(cls):
                    setattr(cls, method, steps.step(vars(cls)[method], name))
            for method in ("find_element", "find_elements"):
                if method in vars(cls):
                    setattr(cls, method, steps.find(vars(cls)[method]))
            for method in ("quit", "close"):
                if name == "WebDriver":
                    setattr(cls, method, steps.close(vars(cls)[method]))


class SeleniumSteps:
    def __init__(self, interface):
        self._interface = interface
        self._targets = {}  # By the browser's id of an element: how the test found it.
        self._thread, self._threads_in_step = threading.get_ident, set()

    def step(self, method, cls):
        @functools.wraps(method)
        def step(self, *arguments, **named):
            __tracebackhide__ = True
            here = steps._thread()
            if here in steps._threads_in_step:  # Some steps call others: `Select` clicks.
                return method(self, *arguments, **named)
            steps._threads_in_step.add(here)
            try:
                result = method(self, *arguments, **named)
            finally:
                steps._threads_in_step.discard(here)
            driver, action = _driver(self, cls), steps._action(self, cls, method.__name__, arguments, named)
            if driver is None:
                steps._interface.unknown_page(action)
            elif steps._interface.wants(driver, steps._read):
                steps._read(action, driver)
            return result

        steps = self
        return step

    def find(self, method):
        @functools.wraps(method)
        def find(self, *arguments, **named):
            __tracebackhide__ = True
            found = method(self, *arguments, **named)
            by = arguments[0] if arguments else named.get("by", "id")
            value = arguments[1] if len(arguments) > 1 else named.get("value")
            for element in found if isinstance(found, list) else [found]:
                if len(steps._targets) < MAX_TARGETS and hasattr(element, "id"):
                    steps._targets.setdefault(element.id, '%s "%s"' % (by, value))
            return found

        steps = self
        return find

    def close(self, method):
        @functools.wraps(method)
        def close(self, *arguments, **named):
            __tracebackhide__ = True
            for driver in steps._interface.pages_to_close(lambda driver: driver is self):
                steps._read("before it is closed", driver)
            return method(self, *arguments, **named)

        steps = self
        return close

    def _read(self, action, driver):
        if driver.session_id is None:
            return
        try:
            dialog = _dialog(driver)
            if dialog is not None:
                # Any other request would close the dialog, which the test wants to do.
                self._interface.record(action, "", ['dialog "%s"' % dialog], dialog)
                return
            self._interface.record(action, driver.current_url, _tree(driver), driver.execute_script(TEXT_SCRIPT) or "")
        except Exception as error:
            self._interface.gap(action, error)

    def _action(self, used, cls, method, arguments, named):
        """What was done and where. Not what was typed: it may be secret."""
        action = method.replace("_", " ")
        if cls == "WebDriver":
            return action if method != "get" else "%s %s" % (action, address(str(arguments[0] if arguments else named.get("url"))))
        element = used if cls == "WebElement" else getattr(used, "_el", None)
        target = self._targets.get(getattr(element, "id", None))
        return action if target is None else "%s %s" % (action, target)


def _driver(used, cls):
    if cls == "WebDriver":
        return used
    if cls == "ActionChains":
        return getattr(used, "_driver", None)
    element = used if cls == "WebElement" else getattr(used, "_el", None)
    return getattr(element, "parent", None)


def _dialog(driver):
    """The text of an open dialog, or None."""
    from selenium.common.exceptions import NoAlertPresentException

    try:
        return driver.switch_to.alert.text
    except NoAlertPresentException:
        return None


def _tree(driver):
    if hasattr(driver, "execute_cdp_cmd") and "chrom" in str(driver.capabilities.get("browserName", "")).lower():
        return of_chromium(driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"])
    return driver.execute_script(TREE_SCRIPT)
