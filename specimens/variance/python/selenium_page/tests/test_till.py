import shutil

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.ui import WebDriverWait
from shop.till import Server


@pytest.fixture
def address():
    with Server() as address:
        yield address


@pytest.fixture
def driver():
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    options.add_argument("--headless=new")
    options.add_argument("--no-sandbox")
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    yield driver
    driver.quit()


def test_the_sum_is_shown(driver, address):
    driver.get(address)
    driver.find_element(By.ID, "pay").click()
    total = driver.find_element(By.ID, "sum")
    WebDriverWait(driver, 5).until(lambda _: total.text == "Sum 11")


def test_cash_and_a_bag_are_chosen(driver, address):
    driver.get(address)
    driver.find_element(By.ID, "bag").click()
    Select(driver.find_element(By.ID, "by")).select_by_visible_text("cash")
    assert driver.find_element(By.ID, "bag").is_selected()
