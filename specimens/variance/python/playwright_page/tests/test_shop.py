import asyncio
import shutil

import pytest
from playwright.async_api import async_playwright
from playwright.sync_api import expect, sync_playwright
from shop.server import Server

BROWSER = {"executable_path": shutil.which("chromium"), "args": ["--no-sandbox"]}


@pytest.fixture
def address():
    with Server() as address:
        yield address


@pytest.fixture
def page():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**BROWSER)
        yield browser.new_page()
        browser.close()


def test_all_offers_arrive(page, address):
    page.goto(address)
    expect(page.get_by_role("listitem")).to_have_count(4)
    expect(page.locator("#total")).to_have_text("Together 19")


def test_an_offer_is_found(page, address):
    page.goto(address + "/search")
    page.get_by_role("link", name="Back").hover()
    page.goto(address + "/search?word=dates")
    assert page.get_by_role("paragraph").inner_text() == "Dates costs 5"


def test_nothing_is_found(address):
    async def search():
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(**BROWSER)
            page = await browser.new_page()
            await page.goto(address + "/search?word=eggs")
            found = await page.get_by_role("heading").inner_text()
            await browser.close()
            return found

    assert asyncio.run(search()) == "Nothing found"
