"""Steps of tests that use Selenium. PYTEST_DONT_REWRITE"""

import functools
import threading

from .interface import address
from .accessibility_tree import BY_ELEMENTS, of_chromium

STEPS = {
    "WebDriver": "get back forward refresh",
    "WebElement": "click send_keys clear submit",
    "ActionChains": "perform",
    "Select": "select_by_value select_by_index select_by_visible_text "
    "deselect_all deselect_by_value deselect_by_index deselect_by_visible_text",
}
TEXT = "return document.body ? document.body.innerText : ''"
MOST_TARGETS = 10_000


def watch(module, interface):
    """Each of these modules has one of the classes."""
    looks = interface.shared(Looks)
    for name, methods in STEPS.items():
        kind = getattr(module, name, None)
        if kind is not None and kind.__module__ == module.__name__:
            for method in methods.split():
                if method in vars(kind):
                    setattr(kind, method, looks.step(vars(kind)[method], name))
            for method in ("find_element", "find_elements"):
                if method in vars(kind):
                    setattr(kind, method, looks.find(vars(kind)[method]))
            for method in ("quit", "close"):
                if name == "WebDriver":
                    setattr(kind, method, looks.close(vars(kind)[method]))


class Looks:
    def __init__(self, interface):
        self._interface = interface
        self._targets = {}  # By what the browser calls an element: how the test has found it.
        self._thread, self._inside = threading.get_ident, set()

    def step(self, method, kind):
        @functools.wraps(method)
        def step(self, *arguments, **named):
            __tracebackhide__ = True
            here = looks._thread()
            if here in looks._inside:  # `Select` clicks, and `submit` runs a script.
                return method(self, *arguments, **named)
            looks._inside.add(here)
            try:
                result = method(self, *arguments, **named)
            finally:
                looks._inside.discard(here)
            driver, words = _driver(self, kind), looks._words(self, kind, method.__name__, arguments, named)
            if driver is None:
                looks._interface.unknown(words)
            elif looks._interface.wants(driver, looks._look):
                looks._look(words, driver)
            return result

        looks = self
        return step

    def find(self, method):
        @functools.wraps(method)
        def find(self, *arguments, **named):
            __tracebackhide__ = True
            found = method(self, *arguments, **named)
            by = arguments[0] if arguments else named.get("by", "id")
            value = arguments[1] if len(arguments) > 1 else named.get("value")
            for element in found if isinstance(found, list) else [found]:
                if len(looks._targets) < MOST_TARGETS and hasattr(element, "id"):
                    looks._targets.setdefault(element.id, '%s "%s"' % (by, value))
            return found

        looks = self
        return find

    def close(self, method):
        @functools.wraps(method)
        def close(self, *arguments, **named):
            __tracebackhide__ = True
            for driver in looks._interface.to_be_closed(lambda driver: driver is self):
                looks._look("before it is closed", driver)
            return method(self, *arguments, **named)

        looks = self
        return close

    def _look(self, action, driver):
        if driver.session_id is None:
            return
        try:
            dialog = _dialog(driver)
            if dialog is not None:
                # Any other question would answer the dialog, and the test wants to do that.
                self._interface.tell(action, "", ['dialog "%s"' % dialog], dialog)
                return
            self._interface.tell(action, driver.current_url, _tree(driver), driver.execute_script(TEXT) or "")
        except Exception as error:
            self._interface.gap(action, error)

    def _words(self, used, kind, method, arguments, named):
        """What was done, and where as the test has it. Not what was typed: that may be a secret, and is seen in the page if it can be."""
        words = method.replace("_", " ")
        if kind == "WebDriver":
            return words if method != "get" else "%s %s" % (words, address(str(arguments[0] if arguments else named.get("url"))))
        element = used if kind == "WebElement" else getattr(used, "_el", None)
        where = self._targets.get(getattr(element, "id", None))
        return words if where is None else "%s %s" % (words, where)


def _driver(used, kind):
    if kind == "WebDriver":
        return used
    if kind == "ActionChains":
        return getattr(used, "_driver", None)
    element = used if kind == "WebElement" else getattr(used, "_el", None)
    return getattr(element, "parent", None)


def _dialog(driver):
    """The text of a dialog that is open, or None."""
    from selenium.common.exceptions import NoAlertPresentException

    try:
        return driver.switch_to.alert.text
    except NoAlertPresentException:
        return None


def _tree(driver):
    if hasattr(driver, "execute_cdp_cmd") and "chrom" in str(driver.capabilities.get("browserName", "")).lower():
        return of_chromium(driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"])
    return driver.execute_script(BY_ELEMENTS)
