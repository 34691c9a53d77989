"""The report in one file in a real browser, from disk: with scripts all pages, without them its short form."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.looks import CONTRAST, is_bright
from tests.browser.reports import ARABIC, FAR, MIXED, report
from tests.support.program import mock_suite, strict_json, waza, write_tree

from waza.dashboard.static_files import FOLDER, INDEX

ROOT = Path(__file__).parents[2]
AXE = ROOT / "dashboard" / "node_modules" / "axe-core" / "axe.min.js"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not ((FOLDER / INDEX).is_file() and AXE.is_file()), reason="the pages are not built: `make dashboard`"
    ),
]

HOSTILE = (
    "</script></title></style></svg><script>pwned = 1</script><img src=x onerror=pwned=1>"
    "<!--<script> javascript:pwned=1 \x1b[31m\u202e\u2028 \"'&amp;`"
)
TEXT = json.dumps(HOSTILE)
TASKS = {
    "fine": "name: Greets\ninputs: {prompt: p}\nmock: {output: hello}",
    "arabic": f"name: {ARABIC!r}\ninputs: {{prompt: p}}\nmock: {{output: {ARABIC!r}}}",
    "breaks": "name: Breaks\ninputs: {prompt: p}\nmock: {error: the server is gone}",
    "far": f"name: {FAR[:400]!r}\ninputs: {{prompt: p}}\nmock: {{output: {FAR.splitlines()[0]!r}}}",
    "flaky": "name: Flaky\ninputs: {prompt: p}\nmock: {executions: [{output: hello}, {output: no}, {output: hello}]}",
    "hostile": (
        f"name: {TEXT}\ntags: [{TEXT}]\ninputs: {{prompt: {TEXT}, follow_up_prompts: [{TEXT}]}}\n"
        f"mock: {{output: {TEXT}}}\n"
        f"graders: [{{type: text, name: {TEXT}, config: {{contains: [{TEXT}, never]}}}}]"
    ),
}
SAYS = f"skill: {TEXT}\ngraders: [{{type: text, name: says, config: {{contains: [hello]}}}}]"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports of a run with awkward texts, and of two runs beside which others did not start."""
    root = tmp_path_factory.mktemp("reports")
    suite = mock_suite(root / "a", TASKS, SAYS, ["trials_per_task: 3"], name=TEXT)
    ended = waza("run", suite, "-o", "one.json", cwd=root)
    assert ended.code == 1, ended.err
    results = strict_json((root / "one.json").read_bytes())
    for number, task in enumerate(results["tasks"], 1):  # the mock takes neither time nor tokens
        task["stats"]["avg_duration_ms"] = 2000 * number
        for trial in task["runs"]:
            trial["duration_ms"] = 1000 * number * trial["run_number"]
            trial["session_digest"]["usage"] = {
                **dict.fromkeys(("turns", "cache_read_tokens", "cache_write_tokens", "premium_requests"), 0),
                "input_tokens": 3000 * number,
                "output_tokens": 100 * trial["run_number"],
            }
    write_tree(root, {"one.json": json.dumps(results)})
    ended = waza("report", "one.json", "-o", "one.html", cwd=root)
    assert ended.code == 0, ended.err
    for name, head in (
        ("fine", ""),
        ("broken", "hooks: {before_run: [{command: exit 7, error_on_fail: true}]}"),
    ):
        mock_suite(root / "b" / name, {"t": TASKS["fine"]}, f"skill: {name}\n{head}")
        write_tree(root / "b" / name, {"SKILL.md": f"---\nname: {name}\ndescription: d\n---\nb\n"})
    ended = waza("run", "--model", "x", "--model", "y", "-o", "many.html", cwd=root / "b")
    assert ended.code == 2, ended.err
    (root / "b" / "many.html").rename(root / "many.html")
    return root


def axe(page: Page) -> list[str]:
    """What axe finds, each with where; the policy of the page lets no script in but by the debugger."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations)"
    )
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("name", ["one.html", "many.html"])
def test_it_is_readable_on_every_screen(view, project, name, scripts, width, scheme):
    page: Page = view(
        project / name,
        color_scheme=scheme,
        viewport={"width": width, "height": 800},
        java_script_enabled=scripts,
    )
    expect(page.get_by_text("✗ Failed").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    _, contrast, where = page.evaluate(CONTRAST)
    assert contrast >= 4.5, where
    assert is_bright(page) == (scheme == "light")


def test_a_report_of_one_run_opens_with_it_and_leads_to_the_cause(view, project):
    page: Page = view(project / "one.html")
    expect(page.get_by_role("heading", level=1)).to_contain_text("pwned")
    assert page.locator("[data-reduced]").count() == 0
    page.get_by_role("link", name="Breaks").click()
    expect(page.get_by_text("the server is gone").first).to_be_visible()
    assert re.search(r"#/runs/[^/]+/[^/]+/1$", page.url)
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Plots").click()
    expect(page.locator("figure")).to_have_count(4)


def test_hostile_text_is_text_in_both_forms(view, project):
    for scripts in (True, False):
        page: Page = view(project / "one.html", java_script_enabled=scripts)
        expect(page.get_by_text("✗ Failed").first).to_be_visible()
        if scripts:
            page.get_by_role("link", name=re.compile("pwned")).first.click()
            expect(page.get_by_role("heading", level=1)).to_contain_text("pwned")
        assert page.evaluate("window.pwned") is None
        assert page.locator("script").count() == 2
        assert page.locator("body [src], iframe, object, embed, image, use").count() == 0
        for link in page.locator("a[href]").all():
            assert str(link.get_attribute("href")).startswith("#")


def test_without_scripts_the_short_form_has_the_verdict_the_failures_and_the_plots(view, project):
    page: Page = view(project / "one.html", java_script_enabled=False)
    assert page.locator("button:visible, input:visible, select:visible").count() == 0
    expect(page.get_by_text("This is the short form")).to_be_visible()
    expect(page.get_by_text("the server is gone").first).to_be_visible()
    assert page.locator("figure").count() == 4
    assert page.locator(".tasks tbody tr:visible").count() == len(TASKS)


def test_the_marks_of_the_plots_are_the_trials(view, project):
    page: Page = view(project / "one.html", java_script_enabled=False)
    data = json.loads(page.locator("#waza-data").text_content() or "")
    (trials,) = data["trials"].values()
    for status, tone in (("passed", "pass"), ("failed", "fail"), ("error", "error")):
        count = sum(trial["status"] == status for trial in trials)
        assert page.locator(f"g.cell.{tone}").count() == count > 0
    assert page.locator("circle.mark").count() == len(TASKS)
    (tasks,) = data["tasks"].values()
    scores = sorted(f"{task['score']:.2f}" for task in tasks)
    shown = page.locator("g:has(> .mark) > title").all_text_contents()
    assert (
        sorted(re.findall(r": (\d\.\d\d)(?:, 95 % interval .*)?$", "\n".join(shown), re.MULTILINE)) == scores
    )


def test_several_runs_begin_with_the_verdict_over_all_of_them(view, project):
    page: Page = view(project / "many.html")
    expect(page.get_by_text("✗ Failed")).to_be_in_viewport()
    expect(page.get_by_text("broken on x: did not run", exact=False)).to_be_in_viewport()
    expect(page.locator("figure")).to_have_count(1)
    page.locator("main").get_by_role("link").first.click()
    expect(page.get_by_role("heading", name="Not started")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_text("broken on y: did not run", exact=False)).to_be_in_viewport()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("where", ["", "?tab=plots", "?tab=figures", "a trial"])
def test_axe_finds_nothing_in_the_pages(view, project, where, scheme):
    page: Page = view(project / "one.html", color_scheme=scheme)
    expect(page.get_by_text("✗ Failed")).to_be_visible()
    if where == "a trial":
        page.get_by_role("link", name="Breaks").click()
        expect(page.get_by_role("heading", level=1, name="Breaks")).to_be_visible()
        assert axe(page) == []
        return
    page.evaluate("(where) => { location.hash = location.hash + where }", where)
    if where:
        expect(page.get_by_role("link", name="Tasks", exact=True)).not_to_have_attribute(
            "aria-current", "page"
        )
    assert axe(page) == []


@pytest.mark.parametrize("name", ["one.html", "many.html"])
def test_axe_finds_nothing_in_the_short_form(view, project, tmp_path, name):
    text = (project / name).read_text(encoding="utf-8")
    start = text.index('<script type="module">')  # axe itself is a script, so that they are not switched off
    (tmp_path / name).write_text(text[:start], encoding="utf-8")
    page: Page = view(tmp_path / name)
    expect(page.get_by_text("This is the short form")).to_be_visible()
    assert axe(page) == []


def test_it_prints_bright(view, project):
    for scripts in (True, False):
        page: Page = view(
            project / "one.html",
            color_scheme="dark",
            java_script_enabled=scripts,
            viewport={"width": 720, "height": 900},
        )
        expect(page.get_by_text("✗ Failed").first).to_be_visible()
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(28, 36, 48)"
        assert page.evaluate("document.documentElement.scrollWidth") == 720


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of an evaluation document with awkward texts."""
    root = tmp_path_factory.mktemp("document")
    report(root, MIXED, Relevance={})
    ended = waza("report", "report.json", "-o", "file.html", cwd=root)
    assert ended.code == 0, ended.err
    return root / "file.html"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_of_a_document_opens_with_its_items(view, document, scheme):
    page: Page = view(document, color_scheme=scheme, viewport={"width": 360, "height": 800})
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert page.locator("[data-reduced]").count() == 0
    expect(page.get_by_text("How do I order a new laptop?").first).to_be_visible()
    assert page.evaluate("window.pwned") is None
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert axe(page) == []


def test_without_scripts_a_report_of_a_document_has_all_items(view, document):
    page: Page = view(document, java_script_enabled=False)
    assert page.locator("#items > *").count() == len(MIXED)
