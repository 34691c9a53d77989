"""The HTML report in a real browser: what it says, what it does, and how it can be read."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import pytest
from playwright.sync_api import Page, expect
from tests.browser.looks import CONTRAST, is_bright
from tests.browser.reports import HOSTILE, LINK, STATUSES

from waza.kit.unsafe_text import escape_unsafe
from waza.m365.results import html_report

pytestmark = pytest.mark.slow

# What a page says of its items: of each its title and status, and of its turns the texts by label and the scores.
ITEMS = """() => {
  const say = (root, selector) => [...root.querySelectorAll(selector)].map((one) => one.textContent);
  return [...document.querySelectorAll("details")].map((item) => ({
    title: say(item, "h3")[0],
    status: say(item, "summary .badge")[0],
    turns: [...item.querySelectorAll("section")].map((turn) => ({
      texts: Object.fromEntries([...turn.querySelectorAll("dl > div")].map((one) => say(one, "dt, dd"))),
      error: say(turn, ".problem")[0] ?? "",
      scores: [...turn.querySelectorAll("tbody tr")].map((row) => say(row, "th, .result, .reason")),
    })),
  }));
}"""

# In how many lines each name of an evaluator stands, and how far each number is from its scale, in pixels.
ROOM = """() => {
  const box = (node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    return range;
  };
  const lines = (node) => new Set([...box(node).getClientRects()].map((rect) => rect.top)).size;
  return [
    [...document.querySelectorAll("tbody th")].map(lines),
    [...document.querySelectorAll(".scale")].map((scale) =>
      scale.getBoundingClientRect().left - box(scale.previousSibling).getBoundingClientRect().right),
  ];
}"""


def shown(page: Page) -> list[int]:
    """The numbers of the items that are to be seen, in their order."""
    return [int(text) for text in page.locator("details:visible > summary > .quiet").all_text_contents()]


def numbers(statuses: list[str], *wanted: str) -> list[int]:
    return [number for number, status in enumerate(statuses, 1) if status in wanted]


def test_a_report_says_what_its_document_says(view, mixed):
    page: Page = view(mixed.file)
    said = page.evaluate(ITEMS)
    assert [item["status"] for item in said] == mixed.statuses() == STATUSES
    for item, seen in zip(mixed.items, said, strict=True):
        turns = item.get("turns", [item])
        title = escape_unsafe(item.get("name") or item["prompt"])
        assert seen["title"] == title or (seen["title"][-1] == "…" and title.startswith(seen["title"][:-1]))
        for turn, part in zip(turns, seen["turns"], strict=True):
            texts = {"Prompt": seen["title"], **part["texts"]}
            for key in ("prompt", "response", "expected_response", "context"):
                label = key.replace("_", " ").capitalize()
                assert texts.get(label, "") == escape_unsafe(turn.get(key, ""))
            for citation in turn.get("citations", []):
                assert escape_unsafe(citation.get("text", "")) in texts["Citations"]
                assert citation["source"] in texts["Citations"]
            assert turn.get("error", {}).get("message", "") in part["error"]
            assert part["scores"] == [
                [name, score["result"], escape_unsafe(score.get("error") or score.get("reason") or "")]
                for name, score in turn["scores"].items()
            ]
    expect(page.locator(".headline")).to_have_text("40% 4 of 10 items (14 turns) pass")
    counts = Counter(STATUSES)
    legend = page.locator(".legend dt").all_inner_texts()
    assert legend == [f"{counts[status]} {status}" for status in ("pass", "fail", "partial", "error")]
    relevance = page.locator(".totals tbody tr").first.locator("th, .number").all_inner_texts()
    assert relevance == ["relevance", "11", "8", "2", "1", "3.5"]


def test_a_plot_has_the_results_of_every_item_and_evaluator(view, mixed):
    page: Page = view(mixed.file)
    results = [
        score["result"]
        for item in mixed.items
        if "turns" not in item
        for score in item.get("scores", {}).values()
    ]
    threads = [item["turns"] for item in mixed.items if "turns" in item]
    for turns in threads:  # the worst of its turns
        names = {name for turn in turns for name in turn.get("scores", {})}
        for name in names:
            own = {turn["scores"][name]["result"] for turn in turns if name in turn.get("scores", {})}
            results.append(next(one for one in ("error", "fail", "pass") if one in own))
    for result in ("pass", "fail", "error"):
        assert page.locator(f"g.cell.{result}").count() == results.count(result) > 0
    assert page.locator("g.cell").count() == 10 * 6


def test_hostile_text_is_text(view, mixed):
    page: Page = view(mixed.file)
    page.get_by_role("button", name="Expand all").click()
    item = page.locator("details").nth(7)
    for label in ("Response", "Expected response", "Context"):
        text = item.locator(f"dl > div:has(dt:text-is('{label}')) dd")
        assert (text.is_visible(), text.inner_text()) == (True, escape_unsafe(HOSTILE))
    assert LINK in item.inner_text()
    assert page.evaluate("window.pwned") is None
    assert page.locator("script").count() == page.locator("style").count() == 1
    assert page.locator("[href], [src], img, image, use, foreignObject, a, iframe, form").count() == 0


def test_the_policy_of_a_page_lets_no_other_script_run(chromium, mixed):
    page: Page = chromium.new_page()  # it may complain
    page.goto(mixed.file.as_uri())
    blocked = page.evaluate(
        """() => new Promise((resolve) => {
          document.addEventListener("securitypolicyviolation", (event) => resolve(event.effectiveDirective));
          document.body.append(Object.assign(document.createElement("script"), { text: "pwned = 1" }));
          setTimeout(resolve, 5000, "nothing");
        })"""
    )
    assert (blocked, page.evaluate("window.pwned")) == ("script-src-elem", None)
    page.close()


def test_filters_search_and_order(view, large):
    page: Page = view(large.file)
    statuses = large.statuses()
    every = list(range(1, 301))
    assert shown(page) == every
    page.get_by_role("button", name="fail").click()
    assert shown(page) == numbers(statuses, "fail")
    expect(page.get_by_role("status")).to_have_text(f"{len(shown(page))} of 300 items")
    page.get_by_role("searchbox").fill("  What IS the cost centre of project 1")
    failed = [n for n in numbers(statuses, "fail") if str(n).startswith("1")]
    assert shown(page) == failed
    page.get_by_role("button", name="Expand all").click()
    assert page.locator("details[open]").count() == len(failed)
    page.get_by_role("button", name="Collapse all").click()
    assert page.locator("details[open]").count() == 0
    page.get_by_role("searchbox").fill("no such words")
    expect(page.get_by_role("status")).to_have_text("0 of 300 items")
    page.get_by_role("searchbox").fill("")
    page.get_by_role("button", name="all 300").click()
    assert shown(page) == every
    page.get_by_label("Evaluator").select_option("partialMatch")
    assert shown(page) == numbers(statuses, "fail")
    page.get_by_label("Evaluator").select_option(label="Any evaluator")
    page.get_by_label("Order").select_option(label="Worst first")
    assert shown(page) == [
        n for status in ("error", "partial", "fail", "pass") for n in numbers(statuses, status)
    ]
    page.get_by_label("Order").select_option(label="Document order")
    assert shown(page) == every


def test_everything_can_be_done_with_the_keyboard(view, mixed):
    page: Page = view(mixed.file)
    reached = []
    for _ in range(30):
        page.keyboard.press("Tab")
        name = page.evaluate(
            "document.activeElement.ariaLabel ?? document.activeElement.innerText.split('\\n')[0]"
        )
        reached.append(name)
        if name == "Dark or light":
            page.keyboard.press("Enter")
        elif name.startswith("error"):
            page.keyboard.press("Space")
        elif name == "Search items":
            page.keyboard.type("canteen")
        elif name == "Order":
            page.keyboard.press("ArrowDown")
        elif name.startswith("4"):
            break
    assert reached == [
        *("Dark or light", "all 10", "pass 4", "fail 2", "partial 2", "error 2"),
        *("Search items", "Evaluator", "Order", "Expand all", "4"),
    ]
    assert shown(page) == [4]
    assert page.locator("#order").input_value() == "worst"
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    page.keyboard.press("Enter")
    expect(page.get_by_text("Yes, until two.")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 400, 1200])
def test_it_is_readable_on_every_screen(view, mixed, scheme, width):
    page: Page = view(mixed.file, color_scheme=scheme, viewport={"width": width, "height": 800})
    page.get_by_role("button", name="Expand all").click()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.locator("dd:visible").count() > 30
    texts, contrast, where = page.evaluate(CONTRAST)
    assert texts > 150
    assert contrast >= 4.5, where
    assert is_bright(page) == (scheme == "light")


def test_names_and_numbers_have_room(view, tmp_path):
    score = {
        "score": 8 / 11,
        "threshold": 0.5,
        "result": "pass",
        "reason": "It says all there is to say. " * 9,
    }
    names = ("partialMatch", "professional_tone", "mentions_policy_document")
    item = {"prompt": "p", "response": "r", "status": "fail", "scores": dict.fromkeys(names, score)}
    file = tmp_path / "report.html"
    file.write_text(html_report.to_html({"schemaVersion": "1.7.0", "items": [item]}), encoding="utf-8")
    page: Page = view(file, viewport={"width": 1200, "height": 800})
    lines, (space,) = page.evaluate(ROOM)
    assert lines == [1] * 6
    assert space > 5


def test_headings_landmarks_and_names_are_there_for_who_cannot_see(view, mixed):
    page: Page = view(mixed.file)
    page.get_by_role("button", name="Expand all").click()
    levels = page.evaluate(
        "[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map((one) => +one.tagName[1])"
    )
    assert Counter(levels) == {1: 1, 2: 3, 3: 10, 4: 6}
    assert levels[0] == 1
    assert all(deeper - level <= 1 for level, deeper in pairwise(levels))
    for landmark in ("banner", "main", "search"):
        assert page.get_by_role(landmark).count() == 1
    tree = page.locator("body").aria_snapshot()
    controls = re.findall(r"- (?:button|combobox|searchbox)\b.*", tree)
    assert len(controls) == 10
    assert [line for line in controls if not re.match(r"- \w+ \"", line)] == []


def test_it_prints_bright_whole_and_without_controls(view, mixed):
    page: Page = view(mixed.file, color_scheme="dark", viewport={"width": 720, "height": 1000})
    page.get_by_role("button", name="Expand all").click()
    cut = "[...document.querySelectorAll('dd')].some((one) => one.scrollHeight > one.clientHeight)"
    assert page.evaluate(cut)
    page.get_by_label("Dark or light").click()
    page.get_by_label("Dark or light").click()
    page.emulate_media(media="print")
    assert not page.evaluate(cut)
    assert page.evaluate("document.documentElement.scrollWidth") == 720
    assert page.locator("button:visible, input:visible, select:visible").count() == 0
    _, contrast, where = page.evaluate(CONTRAST)
    assert contrast >= 4.5, where
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(28, 36, 48)"


def test_all_is_there_without_scripts(view, mixed):
    page: Page = view(mixed.file, java_script_enabled=False)
    assert page.locator("button:visible, input:visible, select:visible").count() == 0
    assert shown(page) == list(range(1, 11))
    page.locator("summary").nth(3).click()
    expect(page.get_by_text("Yes, until two.")).to_be_visible()
