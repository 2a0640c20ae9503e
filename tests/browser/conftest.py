"""What all tests in a browser need: Chromium, and runs and figures of the program."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from serving import drawn

ROOT = Path(__file__).parents[2]
PROGRAM = os.environ["TAGQ_PROGRAM"]
#: Names of the browser; it is never downloaded.
NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A browser without a window."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("there is no Chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


class Tab:
    """A page, and what it said and asked for."""

    def __init__(self, context: BrowserContext) -> None:
        self.page: Page = context.new_page()
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self.page.on("dialog", lambda dialog: self.errors.append(f"dialog: {dialog.message}"))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def settle(self) -> None:
        """Waits until everything that was scheduled is drawn."""
        drawn(self.page)


@pytest.fixture
def tab(browser: Browser) -> Iterator[Callable[..., Tab]]:
    """Opens pages; each fails the test if it said an error."""
    opened: list[tuple[BrowserContext, Tab]] = []

    def open_(width: int = 1000, height: int = 800, **options: object) -> Tab:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)  # type: ignore[arg-type]
        opened.append((context, Tab(context)))
        return opened[-1][1]

    yield open_
    for context, one in opened:
        context.close()
        assert one.errors == []


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of the fixtures, without a store."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    folder.mkdir()
    for name in ("1.tags.zst", "2.tags.zst"):
        shutil.copy(ROOT / "data/fixtures/pairs" / name, folder)
    return folder


@pytest.fixture(scope="session")
def micro(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with micro times."""
    return Path(shutil.copy(ROOT / "data/fixtures/picoquant/t3.ptu", tmp_path_factory.mktemp("micro")))


def tagq(*args: str | Path) -> str:
    """Returns the output of the program."""
    return subprocess.run([PROGRAM, *args], check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="session")
def made() -> Path:
    """The folder of the scripts that tests/web.rs builds."""
    folder = Path(os.environ.get("TAGQ_WEB_MADE", "not built"))
    if not folder.exists():
        pytest.skip("the tools of web/ are not installed")
    return folder


@pytest.fixture(scope="session")
def axe(made: Path) -> str:
    """The script that finds what keeps people from using a page."""
    return (made.parent / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")
