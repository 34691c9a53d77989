"""A real browser: Chromium, driven by Playwright, which must not fetch a browser of its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from tests.browser.reports import MIXED, Report, many, report

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
View = Callable[..., Page]


# Of a module: Playwright's loop must not run any more when tests of other modules start theirs.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The browser that `WAZA_CHROMIUM` names, else the one on PATH."""
    program = os.environ.get("WAZA_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("there is no Chromium: install it (`make browser`), or name one in WAZA_CHROMIUM")
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program,
            args=["--no-sandbox"] if root else [],  # it does not start for root
        )
        yield browser
        browser.close()


@pytest.fixture
def view(chromium: Browser) -> Iterator[View]:
    """Opens a file without a network. In the end, pages must have asked for nothing else and complained of nothing."""
    contexts: list[BrowserContext] = []
    heard: list[str] = []
    asked: list[str] = []

    def opened(file: Path, **options: Any) -> Page:
        context = chromium.new_context(offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        assert asked.pop() == file.as_uri()
        return page

    yield opened
    for context in contexts:
        context.close()
    assert (heard, asked) == ([], [])


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return report(tmp_path_factory.mktemp("mixed"), MIXED, Relevance={})


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return report(tmp_path_factory.mktemp("large"), many(300))
