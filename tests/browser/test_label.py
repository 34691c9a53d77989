"""The page of `waza label` in a real browser: with the keyboard alone, on a narrow screen, and as axe-core sees it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.dashboard import AXE, TOO_WIDE, findings, take_screenshot
from tests.e2e.test_label import GRADERS, HOSTILE, labelling, task
from tests.support.program import mock_suite, waza

pytestmark = pytest.mark.slow
LONG = "A very long answer without blanks: " + "x" * 400


def label_by_keyboard(page: Page, name: str) -> None:
    """Go to a button by Tab alone, and press it."""
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == name:
            page.keyboard.press("Enter")
            return
    raise AssertionError(name)


def test_answers_are_labelled_by_keyboard_on_a_narrow_screen(chromium: Browser, tmp_path: Path) -> None:
    mock_suite(tmp_path, {"one": task("answer one"), "two": task(HOSTILE), "three": task(LONG)}, GRADERS)
    waza("run", "eval.yaml", "-o", "results.json", cwd=tmp_path)
    complaints: list[str] = []
    elsewhere: list[str] = []
    with labelling(tmp_path) as (served, _):
        base = f"http://localhost:{served.port}/{served.token}/"
        for scheme in ("light", "dark"):
            context = chromium.new_context(
                viewport={"width": 360, "height": 700},
                color_scheme=scheme,
                bypass_csp=AXE.is_file(),  # axe-core is a script, and the page allows none
            )
            page = context.new_page()
            page.on("console", lambda message: complaints.append(message.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on(
                "request", lambda request: elsewhere.append(request.url) if base not in request.url else None
            )
            for number in range(3):
                page.goto(f"{base}{number}")
                expect(page.locator("h1")).to_have_text(f"Question {number + 1} of 3")
                assert page.evaluate(TOO_WIDE) == []
                if AXE.is_file():
                    assert findings(page) == []
                take_screenshot(page, f"label-{scheme}-{number}")
            context.close()

        context = chromium.new_context(viewport={"width": 360, "height": 700})
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.goto(base)
        for number, name in enumerate(("Fail", "Pass", "Unsure")):
            expect(page.locator("h1")).to_have_text(f"Question {number + 1} of 3")
            label_by_keyboard(page, name)
        expect(page.locator("h1")).to_have_text("All labelled")
        page.get_by_role("link", name="Look at the labels again").click()
        expect(page.get_by_role("status")).to_have_text("Your label: Fail")
        page.get_by_role("link", name="Next").click()
        expect(page.get_by_role("status")).to_have_text("Your label: Pass")
        context.close()
    kept = json.loads((tmp_path / "labels.json").read_text(encoding="utf-8"))
    assert [one["label"] for one in kept["labels"]] == ["fail", "pass", "unsure"]
    assert (complaints, elsewhere) == ([], [])
