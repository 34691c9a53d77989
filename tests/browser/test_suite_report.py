"""The HTML report of suites in a real browser: no network, no complaints, every screen, with keyboard and without scripts."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.looks import CONTRAST, is_bright
from tests.browser.reports import ARABIC, FAR
from tests.support.program import mock_suite, waza, write_tree

pytestmark = pytest.mark.slow

HOSTILE = "</p></td></table></script><script>pwned = 1</script><style>body{display:none}</style><img src=x onerror=pwned=1>"
# The titles of columns that go on in a new line within a word.
BROKEN_TITLES = """() => [...document.querySelectorAll(".tasks thead th")].filter((one) => {
  const range = document.createRange();
  range.selectNodeContents(one);
  const lines = new Set([...range.getClientRects()].map((rect) => rect.top)).size;
  return lines > one.textContent.split(" ").length;
}).map((one) => one.textContent)"""
SAYS = "{type: text, name: says, config: {contains: [hello]}}"
TASKS = {
    "a": "name: Greets\ninputs: {prompt: p}\nmock: {output: hello}",
    "b": f"name: {ARABIC!r}\ninputs: {{prompt: p}}\nmock: {{output: {ARABIC!r}}}",
    "c": "name: Breaks\ninputs: {prompt: p}\nmock: {error: the server is gone}",
    "d": f"name: {FAR[:400]!r}\ninputs: {{prompt: p}}\nmock: {{output: {FAR.splitlines()[0]!r}}}",
    "e": f"name: {HOSTILE!r}\ninputs: {{prompt: p}}\nmock: {{output: {HOSTILE!r}}}",
    "f": "name: Talks\ninputs: {prompt: p, follow_up_prompts: [q]}\nmock: {turns: [{output: one}, {output: hello}]}\n"
    "checkpoints: [{after_turn: 1, graders: [{type: text, name: midway, config: {contains: [two]}}]}]",
}
HEAD = (
    "skill: greeter\nmetrics: [{name: says, threshold: 0.9, gate: true}]\n"
    f"mock: {{triggers: {{say hi: false, say hey: true}}}}\noddity: 3\ngraders: [{SAYS}]"
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of a run on one model with a baseline, and of one on two with a skill that cannot start and one without suite."""
    root = tmp_path_factory.mktemp("suites")
    skills = root / "skills"
    greeter = mock_suite(skills / "greeter", TASKS, HEAD, ["group_by: tags"])
    mock_suite(
        skills / "bob",
        {"t": TASKS["a"]},
        "skill: bob\nhooks: {before_run: [{command: exit 7, error_on_fail: true}]}",
    )
    write_tree(
        skills,
        {
            f"{name}/SKILL.md": f"---\nname: {name}\ndescription: d\n---\nb\n"
            for name in ("greeter", "bob", "cy")
        },
    )
    prompts = "should_trigger_prompts: [{prompt: say hi}, {prompt: say hey}]"
    write_tree(skills, {"greeter/trigger_tests.yaml": f"skill: greeter\n{prompts}\n"})
    ended = waza("run", greeter, "--baseline", "--reporter", "html:one.html", cwd=root)
    assert ended.code == 1, ended.err
    ended = waza("run", "--model", "x", "--model", "y", "--reporter", "html:many.html", cwd=root)
    assert ended.code == 2, ended.err
    return root


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("name", ["one.html", "many.html"])
def test_it_is_readable_on_every_screen(view, project, name, width, scheme):
    page: Page = view(project / name, color_scheme=scheme, viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") == width
    texts, contrast, where = page.evaluate(CONTRAST)
    assert texts > 100
    assert contrast >= 4.5, where
    assert is_bright(page) == (scheme == "light")
    assert page.evaluate(BROKEN_TITLES) == []


def test_the_verdict_is_seen_first_and_hostile_text_is_text(view, project):
    page: Page = view(project / "one.html", viewport={"width": 360, "height": 640})
    expect(page.get_by_text("✗ Failed")).to_be_in_viewport()
    expect(page.get_by_text("gate says: 0.").first).to_be_in_viewport()
    card = page.locator("details.item", has_text="pwned")
    assert card.locator("dd").last.inner_text() == HOSTILE
    assert page.evaluate("window.pwned") is None
    assert page.locator("script").count() == page.locator("style").count() == 1
    assert page.locator("[src], img, image, use, foreignObject, iframe, form, [href]").count() == 0


def test_plots_say_what_the_table_says(view, project):
    page: Page = view(project / "one.html")
    rows = page.locator(".tasks tbody tr").evaluate_all(
        "(rows) => rows.map((row) => [...row.cells].slice(0, 3).map((cell) => cell.firstChild.textContent))"
    )
    plots = page.locator("figure")
    assert plots.locator("figcaption b").all_inner_texts()[:2] == ["Scores", "Trials"]
    scores = plots.first.locator("g > title").all_text_contents()
    assert [(line.rpartition(": ")[0][:50], line.rpartition(": ")[2]) for line in scores] == sorted(
        ((title[:50], score) for title, _, score in rows), key=lambda one: one[1]
    )
    tones = {"passed": "pass", "failed": "fail", "error": "error"}
    for status, tone in tones.items():
        assert plots.nth(1).locator(f"g.cell.{tone}").count() == sum(row[1] == status for row in rows)
    for drawing in page.locator("figure svg[role]").all():
        name = drawing.locator("> title").text_content()
        assert page.get_by_role("img", name=name, exact=True).count() == 1


def test_filters_apply_to_failures_and_tasks_alike(view, project):
    page: Page = view(project / "one.html")
    rows, cards = page.locator(".tasks tbody tr:visible"), page.locator("details.item:visible")
    assert (rows.count(), cards.count()) == (6, 5)
    page.get_by_role("button", name="passed 1").click()
    assert (rows.count(), cards.count()) == (1, 0)
    expect(page.get_by_role("status")).to_have_text("1 of 6 tasks")
    page.get_by_role("button", name="all 6").click()
    page.get_by_label("Grader").select_option("midway")
    assert (rows.count(), cards.count()) == (1, 1)
    page.get_by_label("Grader").select_option(label="Any grader")
    page.get_by_role("searchbox").fill("the SERVER is")
    assert (rows.all_inner_texts()[0].split()[0], rows.count(), cards.count()) == ("Breaks", 1, 1)
    page.get_by_role("searchbox").fill("")
    page.get_by_role("button", name="Collapse all").click()
    assert page.locator("details[open]").count() == 0
    page.get_by_role("button", name="Expand all").click()
    assert page.locator("details[open]").count() == 5


def test_everything_can_be_done_with_the_keyboard(view, project):
    page: Page = view(project / "many.html")
    reached = []
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                "document.activeElement.ariaLabel ?? document.activeElement.innerText.split('\\n')[0]"
            )
        )
        if reached[-1] == "Dark or light":
            page.keyboard.press("Enter")
    assert reached[:10] == [
        *("Dark or light", "all 12", "passed 2", "failed 8", "error 2"),
        *("Search tasks", "Grader", "Collapse all", "greeter on x", "greeter on y"),
    ]
    assert reached[10] == "Models of greeter", "a table that may be scrolled"
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    page.get_by_role("link", name="greeter on y").press("Enter")
    expect(page.get_by_role("heading", name="greeter on y")).to_be_in_viewport()


@pytest.mark.parametrize("name", ["one.html", "many.html"])
def test_headings_landmarks_and_names_are_there_for_who_cannot_see(view, project, name):
    page: Page = view(project / name)
    levels = page.evaluate(
        "[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map((one) => +one.tagName[1])"
    )
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(deeper - level <= 1 for level, deeper in pairwise(levels))
    for landmark in ("banner", "main", "search"):
        assert page.get_by_role(landmark).count() == 1
    headless = (
        "[...document.querySelectorAll('table')].filter((one) => !one.querySelector('th[scope]')).length"
    )
    assert page.evaluate(headless) == 0
    tree = page.locator("body").aria_snapshot()
    controls = re.findall(r"- (?:button|combobox|searchbox|link)\b.*", tree)
    assert len(controls) >= 8
    assert [line for line in controls if not re.match(r"- \w+ \"", line)] == []


def test_all_is_there_without_scripts_and_on_paper(view, project):
    page: Page = view(project / "one.html", java_script_enabled=False, viewport={"width": 720, "height": 900})
    assert page.locator("button:visible, input:visible, select:visible").count() == 0
    assert page.locator(".tasks tbody tr:visible").count() == 6
    expect(page.get_by_text("the server is gone").first).to_be_visible()
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(28, 36, 48)"
