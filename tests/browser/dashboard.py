"""Looking at a running dashboard: pages in a real browser that must ask for nothing else and complain of nothing."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from tests.support.dashboard import Served

ROOT = Path(__file__).parents[2]
AXE = ROOT / "dashboard/node_modules/axe-core/axe.min.js"
STATIC = ROOT / "src/waza/dashboard/static/index.html"
READY = """() => document.querySelector("h1") !== null && document.querySelector(".waiting") === null
  && [...document.querySelectorAll(".virtual")].every((one) => one.ariaRowCount === "1" || one.querySelector("td a, td b"))"""
FINDINGS = """async () => (await axe.run(document, { resultTypes: ["violations"] })).violations.map(
  (one) => `${one.id}: ${one.help}: ${one.nodes.map((node) => node.html).slice(0, 2).join(" ")}`)"""
# What is wider than the page and does not scroll by itself.
TOO_WIDE = """() => document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll("main *")]
  .filter((one) => one.getBoundingClientRect().right > innerWidth + 1).map((one) => one.outerHTML.slice(0, 100))"""
# Bytes that the page has fetched.
TRANSFERRED = "performance.getEntriesByType('resource').reduce((sum, one) => sum + one.transferSize, 0)"

expect.set_options(timeout=30_000)  # milliseconds; a machine may be busy


class Visitor:
    """A reader of a dashboard. `heard` is what pages complained of, `asked` what they asked for."""

    def __init__(self, browser: Browser, served: Served) -> None:
        if not STATIC.is_file() or not AXE.is_file():
            pytest.skip("the pages are not built: run `make dashboard`")
        self.browser, self.served = browser, served
        self.base = f"http://localhost:{served.port}"
        self.heard: list[str] = []
        self.asked: list[str] = []  # addresses
        self.contexts: list[BrowserContext] = []

    def page(self, **options: Any) -> Page:
        """Open a window of its own."""
        context = self.browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: self.heard.append(message.text))
        page.on("pageerror", lambda error: self.heard.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        return page

    def visit(self, hash_: str, page: Page | None = None, **options: Any) -> Page:
        """Go to a page of the dashboard, in this window or a new one, and wait until it shows something."""
        page = page or self.page(**options)
        page.goto(f"{self.base}/#{hash_.removeprefix('#')}")
        page.wait_for_function(READY)
        return page

    def api_requests(self, path: str) -> list[str]:
        """The requests to a path of the API, without the server."""
        found = [url.removeprefix(self.base) for url in self.asked]
        return [url for url in found if re.fullmatch(path, url.partition("?")[0])]

    def close(self, *, connections_break: bool = False) -> None:
        """Close all windows. Nothing may have been asked of anybody else, and nobody complained of anything.

        A browser complains of connections that break, also while its windows close.
        """
        for context in self.contexts:
            context.close()
        elsewhere = [url for url in self.asked if not url.startswith((self.base, "data:", "blob:"))]
        heard = [line for line in self.heard if not (connections_break and "net::ERR_" in line)]
        assert (heard, elsewhere) == ([], []), (heard, elsewhere)


def findings(page: Page) -> list[str]:
    """What axe-core finds."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8") + ";0")
    found: list[str] = page.evaluate(FINDINGS)
    return found


def take_screenshot(page: Page, name: str) -> None:
    """Keep a picture where `WAZA_SCREENSHOTS` says."""
    folder = os.environ.get("WAZA_SCREENSHOTS")
    if folder:
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


def drawn_rows(page: Page) -> int:
    """How many rows of its long table a page has drawn."""
    return page.locator(".virtual tbody tr").count()


def write_runs(root: Path, results: Mapping[str, Any], count: int) -> None:
    """Write so many results files that are like this one, a minute apart."""
    root.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        day, minute = divmod(number, 1440)
        own = {
            **results,
            "eval_id": f"many-{number:04d}",
            "eval_name": f"suite-{number % 7}",
            "timestamp": f"2026-01-{day + 1:02d}T{minute // 60:02d}:{minute % 60:02d}:00Z",
        }
        (root / f"{number:04d}.json").write_text(json.dumps(own), encoding="utf-8")


def write_large_run(file: Path, results: Mapping[str, Any], count: int) -> None:
    """Write results with so many tasks, of which every hundredth failed: the first two tasks, again and again."""
    good, bad = (
        next(one for one in results["tasks"] if one["status"] == status) for status in ("passed", "failed")
    )
    tasks = []
    for number in range(count):
        like = bad if number % 100 == 99 else good
        runs = [{**like["runs"][0], "transcript": [], "tool_events": []}]
        tasks.append(
            {**like, "test_id": f"t{number:05d}", "display_name": f"Task {number:05d}", "runs": runs}
        )
    failed = count // 100
    summary = {
        **results["summary"], "total_tests": count, "succeeded": count - failed, "failed": failed, "errors": 0, "skipped": 0,
        "success_rate": 1 - failed / count,
    }  # fmt: skip
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({**results, "tasks": tasks, "summary": summary}), encoding="utf-8")
