"""The layer `interface` in a browser, with a real Chromium."""

import json
import os
import re
import shutil

import pytest
from layer_reader import LayerFile

pytest.importorskip("playwright")
pytest.importorskip("selenium")
pytestmark = pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("chromedriver")), reason="no chromium, or no driver for it"
)
SPECIMENS = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 4, "specimens")


def specimen(name):
    files = {}
    for directory, _, names in os.walk(os.path.join(SPECIMENS, name)):
        for one in names:
            if one.endswith((".py", ".toml")):
                with open(os.path.join(directory, one)) as file:
                    files[os.path.relpath(os.path.join(directory, one), os.path.join(SPECIMENS, name))] = file.read()
    return files


def steps_of(agent, test):
    """The steps of an attempt that passes, without gaps."""
    file = agent.run(test)
    assert file.gaps("interface") == []
    return json.dumps(file.of("step"))


def test_playwright_pages_differ_only_in_the_flaky_test(layered):
    agent = layered(specimen("variance/python/playwright_page"), "interface")
    assert len({steps_of(agent, 0) for _ in range(4)}) > 1
    assert len({steps_of(agent, 1) for _ in range(3)}) == 1
    steps = agent.run(1).of("step")
    assert [step[1:3] for step in steps] == [
        ["goto /search", "/search"],
        ['hover role=link[name="Back"i]', "/search"],
        ["goto /search?word=dates", "/search?word=dates"],
        ["at the end of the test", "/search?word=dates"],
    ]
    assert steps[-1][3][:3] == ["document", '  heading "Found" [level=1]', "  paragraph: Dates costs 5"]
    assert "Dates costs 5" in steps[-1][4]
    coroutines = agent.run(2).of("step")
    assert [step[1] for step in coroutines] == ["goto /search?word=eggs", "before it is closed"]
    assert '  heading "Nothing found" [level=1]' in coroutines[0][3]


def test_selenium_pages_differ_only_in_the_flaky_test(layered):
    agent = layered(specimen("variance/python/selenium_page"), "interface")
    assert len({steps_of(agent, 0) for _ in range(4)}) > 1
    assert len({steps_of(agent, 1) for _ in range(2)}) == 1
    steps = agent.run(1).of("step")
    assert [step[1] for step in steps] == ["get /", 'click id "bag"', 'select by visible text id "by"', "at the end of the test"]
    assert '  checkbox "With a bag" checked' in steps[1][3] and '  checkbox "With a bag"' in steps[0][3]
    assert any('combobox "Pay by" value="cash"' in line for line in steps[2][3])


PLAYWRIGHT = """
import shutil, pytest
from playwright.sync_api import sync_playwright, expect

FORM = "<title>Form</title><label>Name <input id=name></label> <input type=password id=secret> <button onclick='window.close()'>Bye</button>"

@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()

@pytest.fixture
def page(browser):
    page = browser.new_page()
    yield page
    page.close()

def test_types(page):
    page.set_content(FORM)
    page.fill("#name", "Ada")
    page.locator("#secret").fill("hunter2")
    page.keyboard.press("Tab")
    page.query_selector("#name").click()
    page.mouse.click(1, 1)
    page.main_frame.press("#name", "End")

def test_fails(page):
    page.set_content(FORM)
    page.click("#nobody", timeout=300)

def test_a_dialog(page):
    heard = []
    page.on("dialog", lambda dialog: (heard.append(dialog.message), dialog.accept()))
    page.set_content("<button onclick='document.title = confirm(1)'>Ask</button>")
    page.click("button")
    assert heard == ["1"] and page.title() == "true"

def test_closes_its_page(browser):
    page = browser.new_page()
    page.set_content(FORM)
    page.close()
    assert page.is_closed()

def test_a_page_that_is_busy(page):
    page.set_content("<p>Busy")
    page.evaluate("setInterval(() => { for (let end = Date.now() + 2500; Date.now() < end;); }, 1), 0")
    page.mouse.click(1, 1)
"""


def test_playwright_steps_do_not_contain_typed_text(layered):
    file = layered(PLAYWRIGHT, "interface").run(0)
    assert [step[1] for step in file.of("step")] == [
        "set content", "fill #name", "fill #secret", "press Tab", "click", "click", "press #name", "at the end of the test",
    ]
    assert '  textbox "Name": Ada' in file.of("step")[1][3] and file.of("step")[1][2] == "about:blank"
    assert "hunter2" not in json.dumps([step[1] for step in file.of("step")])


def test_instrumentation_does_not_change_playwright_tests(layered, project):
    plain, instrumented = project(PLAYWRIGHT).ready(), layered(PLAYWRIGHT, "interface")
    recorded = {}
    for test in range(1, 5):
        (before,), (after,) = plain.run(test), instrumented.connection.run(test)
        recorded[test] = LayerFile(after.pop("layers"))
        for one in (before, after):
            del one["seconds"]
            if "failure" in one:
                one["failure"]["trace"] = re.sub("0x[0-9a-f]+", "0x", one["failure"]["trace"])
        assert before == after
    assert [step[1] for step in recorded[1].of("step")] == ["set content", "at the end of the test"]
    assert [step[1] for step in recorded[2].of("step")] == ["set content", "click button", "at the end of the test"]
    assert [step[1] for step in recorded[3].of("step")] == ["set content", "before it is closed"]
    assert "TimeoutError" in recorded[4].gaps("interface")[0]


SELENIUM = """
import shutil, pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.action_chains import ActionChains

@pytest.fixture(scope="module")
def driver():
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    options.add_argument("--headless=new")
    options.add_argument("--no-sandbox")
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    yield driver
    driver.quit()

def test_a_dialog(driver):
    driver.get("data:text/html,<button onclick='document.title = confirm(1)'>Ask</button>")
    driver.find_element(By.CSS_SELECTOR, "button").click()
    driver.switch_to.alert.accept()
    assert driver.title == "true"

def test_fails(driver):
    driver.get("data:text/html,<input disabled>")
    driver.find_element(By.CSS_SELECTOR, "input").send_keys("x")

def test_types(driver):
    driver.get("data:text/html,<form><label>Name <input name=q></label></form>")
    field = driver.find_element(By.NAME, "q")
    field.send_keys("Ada")
    ActionChains(driver).move_to_element(field).click().perform()
    field.clear()
    driver.refresh()
"""


def test_instrumentation_does_not_change_selenium_tests(layered, project):
    plain, instrumented = project(SELENIUM).ready(), layered(SELENIUM, "interface")
    recorded = []
    for test in range(3):
        (before,), (after,) = plain.run(test), instrumented.connection.run(test)
        recorded.append(LayerFile(after.pop("layers")))
        for one in (before, after):
            del one["seconds"]
            if "failure" in one:  # The browser's own stack contains addresses.
                one["failure"] = one["failure"]["message"].partition("Stacktrace")[0].partition("(Session info")[0]
        assert before == after
    assert [step[1] for step in recorded[0].of("step")][:2] == ["get data:text/html,<button onclick='document.title = confirm(1)'>Ask</button>", 'click css selector "button"']
    assert recorded[0].of("step")[1][3:] == [['dialog "1"'], "1"]
    assert [step[1].partition(" data:")[0] for step in recorded[2].of("step")] == [
        "get", 'send keys name "q"', "perform", 'clear name "q"', "refresh", "at the end of the test",
    ]
    assert any(line.endswith('textbox "Name" value="Ada"') for line in recorded[2].of("step")[1][3])


def test_browser_libraries_are_not_imported(layered):
    source = "import sys\n\ndef test():\n    assert not [name for name in sys.modules if name.partition('.')[0] in ('playwright', 'selenium')]\n"
    assert layered(source, "interface").run().all == [["format", 1]]
