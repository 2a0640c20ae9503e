"""What all tests in a browser share."""

import os

import pytest
from playwright.sync_api import sync_playwright


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ["TAGQ_CHROMIUM"], args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def axe():
    path = os.environ.get("TAGQ_AXE")
    if not path:
        pytest.skip("axe-core is not installed")
    with open(path, encoding="utf-8") as file:
        return file.read()
