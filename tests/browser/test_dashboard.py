"""The pages of `waza serve` in a real browser, on runs that `waza run` made: every page and state, on every screen."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.dashboard import (
    TOO_WIDE,
    TRANSFERRED,
    Visitor,
    drawn_rows,
    findings,
    take_screenshot,
    write_large_run,
    write_runs,
)
from tests.browser.looks import is_bright
from tests.browser.reports import MIXED, report
from tests.support.dashboard import Served, serving
from tests.support.program import mock_suite, strict_json, waza, write_tree

pytestmark = pytest.mark.slow

HOSTILE = (
    "</script><script>window.pwned = 1</script><img src=x onerror=pwned=1><style>body{display:none}</style>"
)
FORMULA = "=1+1"
TASKS = {
    "greets": "name: Greets\ntags: [easy]\ninputs: {prompt: p}\nmock: {output: hello world, usage: {input_tokens: 1200, output_tokens: 300}}",
    "formula": f"name: {FORMULA!r}\ninputs: {{prompt: p}}\nmock: {{output: hello}}",
    "hostile": f"""id: {json.dumps("a/b %2F?#ü " + HOSTILE)}
name: {json.dumps(HOSTILE)}
tags: [{json.dumps(HOSTILE)}]
inputs: {{prompt: {json.dumps(HOSTILE)}, follow_up_prompts: [{json.dumps(HOSTILE)}]}}
mock:
  turns:
    - output: {json.dumps(HOSTILE)}
      tool_calls:
        - {{name: {json.dumps(HOSTILE)}, args: {{command: {json.dumps(HOSTILE)}}}, result: {json.dumps(HOSTILE)}, success: false}}
        - {{name: edit, args: {{path: lib.py, old_str: "a\\nb\\n", new_str: "a\\nc\\n"}}, duration_ms: 40}}
    - output: {json.dumps(HOSTILE)}
graders:
  - {{type: text, name: {json.dumps(HOSTILE)}, config: {{not_contains: [pwned, onerror]}}}}""",
    "breaks": "name: Breaks\ninputs: {prompt: p}\nmock: {error: the server is gone}",
    "talks": "name: Talks\ninputs: {prompt: p, follow_up_prompts: [q]}\nmock: {turns: [{output: one}, {output: hello}]}\n"
    "checkpoints: [{after_turn: 1, graders: [{type: text, name: midway, config: {contains: [two]}}]}]",
}  # fmt: skip
HEAD = (
    "skill: greeter\nmetrics: [{name: says, threshold: 0.9, gate: true}]\n"
    "mock: {triggers: {say hi: false, say hey: true}}\n"
    "graders: [{type: text, name: says, config: {contains: [hello]}}]"
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of a suite with a baseline, a document, an experiment, a store, and files that cannot be read."""
    root = tmp_path_factory.mktemp("project")
    write_tree(
        root,
        {
            ".waza.yaml": "storage: {provider: file, path: kept}\n",
            "kept/.keep": "",
            "skills/greeter/SKILL.md": "---\nname: greeter\ndescription: Greets.\n---\nGreet.\n",
            "skills/greeter/trigger_tests.yaml": "skill: greeter\n"
            "should_trigger_prompts: [{prompt: say hi}, {prompt: say hey}]\n",
            "broken/results.json": '{"eval_id": "broken", "eval_name": "broken", "tasks": [',
        },
    )
    suite = mock_suite(
        root / "skills/greeter", TASKS, HEAD, ["group_by: tags", "trials_per_task: 2"], name="greeter"
    )
    for options in (["--baseline"], []):
        ended = waza("run", suite, *options, cwd=root)
        assert ended.code == 1, ended.err
    report(root / "documents", MIXED, Relevance={})
    for name, output in (("old", "one"), ("new", "one two")):
        mock_suite(
            root / name,
            {f"t{i}": f"inputs: {{prompt: p}}\nmock: {{output: {output}}}" for i in range(6)},
            "graders: [{type: text, name: says, config: {contains: [one, two]}}]",
        )
    arms = [
        "--baseline-eval",
        "old/eval.yaml",
        "--candidate-eval",
        "new/eval.yaml",
        "--allow-change",
        "mocks",
    ]
    rule = ["--rule", "sequential", "--alpha", "0.4", "--tolerated-loss", "0.9", "--seed", "7"]
    ended = waza("experiment", "plan", *arms, *rule, "-o", "experiment/plan.json", cwd=root)
    assert ended.code == 0, ended.err
    ended = waza("run", "old/eval.yaml", cwd=root)
    assert ended.code == 1, ended.err
    return root


@pytest.fixture(scope="module")
def served(project: Path) -> Iterator[Served]:
    with serving(project) as found:
        yield found


@pytest.fixture
def visitor(chromium: Browser, served: Served) -> Iterator[Visitor]:
    found = Visitor(chromium, served)
    yield found
    found.close()


@pytest.fixture
def visit_others(chromium: Browser) -> Iterator[object]:
    """Opens dashboards of other directories, which are served until the test ends."""
    with ExitStack() as stack:

        def others(root: Path) -> Visitor:
            found = Visitor(chromium, stack.enter_context(serving(root)))
            stack.callback(found.close)
            return found

        yield others


@pytest.fixture(scope="module")
def runs(served: Served) -> list[str]:
    """The ids of the two runs of the suite, the newest first."""
    return [one["id"] for one in served.data("runs") if one["spec"] == "greeter"][:2]


def results_of(project: Path, run: str) -> dict[str, Any]:
    """The results of a run."""
    found: dict[str, Any] = strict_json((project / ".waza/runs" / run / "results.json").read_bytes())
    return found


def pages(runs: list[str], served: Served) -> dict[str, str]:
    """Every page with something to show, by what it is called."""
    new, old = runs
    failed = next(one for one in served.data("runs", new, "tasks") if one["name"] == HOSTILE)
    task = quote(failed["id"], safe="")
    (document,) = served.data("documents")
    return {
        "runs": "/",
        "run": f"/runs/{new}",
        "run-with-baseline": f"/runs/{old}",
        "figures": f"/runs/{old}?tab=figures",
        "plots": f"/runs/{new}?tab=plots",
        "trial": f"/runs/{new}/{task}/1",
        "compare-nothing": "/compare",
        "compare": f"/compare?a={old}&b={new}",
        "compare-trial": f"/compare?a={old}&b={new}&task={task}&trial=1",
        "trends": "/trends?suite=suite",
        "live": "/live",
        "experiments": "/experiments",
        "stored": "/stored",
        "documents": "/documents",
        "document": f"/documents/{document['id'].replace('/', '%2F')}",
        "nowhere": "/nowhere",
    }


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_every_page_is_accessible_fits_and_shows_texts_as_texts(visitor, served, runs, scheme, width):
    page = visitor.page(color_scheme=scheme, viewport={"width": width, "height": 800})
    for name, address in pages(runs, served).items():
        visitor.visit(address, page)
        assert findings(page) == [], name
        assert page.evaluate(TOO_WIDE) == [], name
        assert is_bright(page) == (scheme == "light")
        assert page.evaluate("window.pwned") is None, name
        assert page.locator("script, style, iframe, img, object, main [src]").count() == 1, (
            name
        )  # the script of the page
        take_screenshot(page, f"{name}-{scheme}-{width}")


def test_what_a_hostile_trial_says_is_read_as_it_is(visitor, served, runs):
    page = visitor.visit(pages(runs, served)["trial"])
    expect(page.get_by_role("heading", level=1)).to_contain_text(HOSTILE)
    for part in ("Why it failed", "Conversation", "Session"):
        expect(page.get_by_role("region", name=part)).to_contain_text(HOSTILE)
    assert page.title().startswith(HOSTILE)


def test_the_verdict_stands_beside_the_text_with_what_it_speaks_of_marked(visitor, served, runs):
    page = visitor.visit(pages(runs, served)["trial"])
    why = page.get_by_role("region", name="Why it failed")
    expect(why.locator("li.panel").first).to_contain_text("'pwned' is in the output")
    assert set(why.locator("mark.bad").all_inner_texts()) == {"pwned", "onerror"}
    verdict, judged = (why.locator(part).first.bounding_box() for part in ("li.panel", ".judged"))
    assert judged["x"] > verdict["x"] + verdict["width"]
    assert abs(judged["y"] - verdict["y"]) < 50


def test_the_session_shows_the_policy_in_effect_and_every_denial(visit_others, project, runs, tmp_path):
    results = results_of(project, runs[0])
    first, second = (task["runs"][0]["session_digest"] for task in results["tasks"][:2])
    denials = [{"tool": "bash", "kind": "shell", "reason": f"not declared, number {i}"} for i in range(7)]
    first |= {"tool_policy_mode": "allow_list", "tool_policy_denials": denials}
    second |= {"tool_policy_mode": "unrestricted"}
    (tmp_path / "r.json").write_text(json.dumps(results), encoding="utf-8")
    visitor = visit_others(tmp_path)
    page = visitor.page()
    address = f"/runs/{visitor.served.data('runs')[0]['id'].replace('/', '%2F')}/{{}}/1"
    for task, says in ((results["tasks"][0], "allow_list"), (results["tasks"][1], "unrestricted")):
        visitor.visit(address.format(quote(task["test_id"], safe="")), page)
        session = page.get_by_role("table", name="Session")
        expect(session.get_by_role("row", name=re.compile("^Tool policy"))).to_contain_text(says)
        expected = len(denials) if says == "allow_list" else 0
        expect(session.locator("li", has_text="not declared")).to_have_count(expected)
    assert findings(page) == []


def test_a_huge_trial_is_drawn_in_part_until_the_reader_wants_more(visit_others, project, runs, tmp_path):
    results = results_of(project, runs[0])
    trial = results["tasks"][0]["runs"][0]
    call = {"tool_call_id": "", "tool_name": "bash", "arguments": {"command": "x" * 1000}}
    trial["final_output"] = "y" * 2_000_000
    trial["transcript"] = [
        {"type": "user.message", "content": "go"},
        *({**call, "type": "tool.execution_start", "tool_call_id": str(i)} for i in range(2000)),
        {"type": "assistant.message", "content": "z" * 2_000_000},
    ]
    (tmp_path / "r.json").write_text(json.dumps(results), encoding="utf-8")
    visitor = visit_others(tmp_path)
    (run,) = visitor.served.data("runs")
    task = quote(results["tasks"][0]["test_id"], safe="")
    page = visitor.visit(f"/runs/{run['id'].replace('/', '%2F')}/{task}/1")
    assert page.evaluate("document.body.textContent.length") < 1_000_000
    assert page.locator(".call").count() == 300
    page.get_by_role("button", name="more steps").click()
    expect(page.locator(".call")).to_have_count(600)
    page.locator(".judged").get_by_role("button", name="more characters").click()
    expect(page.locator(".judged pre")).to_have_text(
        re.compile("^y{104000}Show 100,000 of 1,896,000 more characters$")
    )


def test_from_the_list_to_the_cause_with_the_keyboard_alone(visitor, runs):
    page = visitor.visit("/")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("greeter")
    expect(page).to_have_url(re.compile("q=greeter"))
    expect(page.get_by_role("status")).to_have_text("2 runs")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(page.locator(":focus")).to_have_text("greeter")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="greeter")).to_be_focused()
    expect(page.locator(".headline", has_text="Failed")).to_be_in_viewport()
    expect(page.locator(".virtual tbody tr").first).to_contain_text(
        re.compile("Breaks|server is gone|pwned|midway")
    )
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Conversation")).to_be_visible()
    first, conversation = page.url, page.get_by_role("region", name="Conversation")
    said = conversation.inner_text()
    page.keyboard.press("n")
    expect(page.get_by_role("link", name="Previous")).to_be_visible()
    assert page.url != first
    expect(conversation).not_to_have_text(said)
    page.keyboard.press("p")
    expect(page).to_have_url(first)
    expect(conversation).to_have_text(said, use_inner_text=True)
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.hasAttribute('data-step')")
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile(rf"#/runs/{runs[0]}$"))
    expect(page.get_by_role("heading", level=1, name="greeter")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", level=1, name="Runs")).to_be_visible()


def test_help_opens_and_closes_with_keys(visitor):
    page = visitor.visit("/")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    assert findings(page) == []
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_the_address_keeps_search_filter_and_order(visitor, runs):
    page = visitor.visit(f"/runs/{runs[0]}")
    page.get_by_role("button", name=re.compile("^failed")).click()
    page.get_by_role("button", name="Task").click()
    page.get_by_role("searchbox").fill("a")
    expect(page).to_have_url(re.compile(r"(?=.*status=failed)(?=.*sort=name)(?=.*q=a)"))
    page.reload()
    expect(page.get_by_role("searchbox")).to_have_value("a")
    expect(page.get_by_role("button", name=re.compile("^failed"))).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("columnheader", name="Task")).to_have_attribute("aria-sort", "ascending")


def test_the_choice_of_dark_or_light_is_kept(visitor):
    page = visitor.visit("/", color_scheme="light")
    page.get_by_role("button", name="Dark or light").click()
    assert not is_bright(page)
    page.reload()
    page.wait_for_selector("h1")
    assert not is_bright(page)


def saved(page: Page) -> list[list[str]]:
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    return list(
        csv.reader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8-sig"), newline=""))
    )


def test_tables_are_saved_for_spreadsheets_without_formulas(visitor, runs):
    head, *lines = saved(visitor.visit("/?q=greeter"))
    assert head == ["ID", "Spec", "Model", "Outcome", "Pass Count", "Task Count", "Pass Rate", "Tokens", "Cost", "Duration (s)", "Timestamp"]  # fmt: skip
    assert [line[0] for line in lines] == runs
    head, *lines = saved(visitor.visit(f"/runs/{runs[0]}"))
    assert head == ["Task", "Outcome", "Score", "Duration (s)", "Grader", "Grader Type", "Grader Passed", "Grader Score", "Grader Message"]  # fmt: skip
    assert {line[0] for line in lines} == {"Greets", f"'{FORMULA}", HOSTILE, "Breaks", "Talks"}


def test_a_printed_page_has_all_rows_and_no_controls(visitor, runs):
    page = visitor.visit(f"/runs/{runs[0]}")
    page.emulate_media(media="print")
    for hidden in ("header.top", ".filters", ".actions"):
        expect(page.locator(hidden)).to_be_hidden()
    tops = page.locator(".virtual tbody tr").evaluate_all(
        "rows => rows.map((row) => row.getBoundingClientRect().top)"
    )
    assert len(tops) == len(set(tops)) == len(TASKS)


def test_plots_are_those_of_the_report(visitor, served, runs):
    page = visitor.visit(pages(runs, served)["plots"])
    sent = json.dumps(served.data("runs", runs[0], "plots"))
    for tag in sorted(set(re.findall(r'"tag": "(\w+)"', sent))):
        assert page.locator(f"main .plots {tag}, main {tag}.plots").count() == sent.count(
            f'"tag": "{tag}"'
        ), tag
    expect(page.locator("figcaption").first).to_contain_text("Scores")
    tasks = served.data("runs", runs[0], "tasks")
    assert page.locator("circle.mark").count() == len([one for one in tasks if one["trials"]])
    assert page.locator("g.cell").count() == sum(len(one["trials"]) + one["missing"] for one in tasks)
    assert page.locator("figure svg").first.bounding_box()["width"] > 200
    expect(page.locator("figure").first).to_contain_text(HOSTILE[:40])


def test_a_run_is_compared_with_the_one_before_it(visitor, served, runs):
    new, old = runs
    page = visitor.visit(f"/runs/{new}")
    page.get_by_role("link", name="Compare", exact=True).last.click()
    expect(page.get_by_label("A, to compare with")).to_have_value(old)
    expect(page.get_by_label("B, which is compared")).to_have_value(new)


def test_two_runs_side_by_side_lead_to_two_conversations(visitor, served, runs):
    page = visitor.visit(pages(runs, served)["compare"])
    difference = page.get_by_role("region", name="B against A")
    expect(difference).to_contain_text("interval")
    page.get_by_role("link", name="Talks").click()
    rows = page.get_by_role("region", name="Conversation").locator("li")
    expect(rows.first).to_have_attribute("aria-label", "equal in both")
    assert rows.first.locator(".side").count() == 2


def test_a_trend_is_drawn_and_told(visitor):
    page = visitor.visit("/trends?suite=suite")
    expect(page.get_by_role("img", name=re.compile("^Score over"))).to_be_visible()
    assert page.locator("canvas").count() >= 1
    page.locator("figure").first.get_by_text("As a table").click()
    expect(page.locator("figure").first.get_by_role("table")).to_be_visible()


@pytest.fixture(scope="module")
def regressed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A run in which all was well, and one with three trials in both arms in which a task broke."""
    root = tmp_path_factory.mktemp("regressed")
    skill = {"skills/greeter/SKILL.md": "---\nname: greeter\ndescription: Greets.\n---\nGreet.\n"}
    write_tree(root, skill)
    head = "skill: greeter\ngraders: [{type: text, name: says, config: {contains: [hello]}}]"  # a passing verdict
    for mock, options, code in (("{output: hello}", [], 0), ("{error: gone}", ["--baseline"], 1)):
        tasks = {
            "breaks": f"inputs: {{prompt: p}}\nmock: {mock}",
            "writes": "inputs: {prompt: p}\nmock: {output: hello}\n"
            + ("graders: [{type: file, name: card, config: {must_exist: [card]}}]" if code else ""),
        }
        suite = mock_suite(root, tasks, head, ["trials_per_task: 3"], name="greeter")
        ended = waza("run", suite, *options, cwd=root)
        assert ended.code == code, ended.err
    with serving(root) as found:
        yield found


@pytest.fixture
def regressed_visitor(chromium: Browser, regressed: Served) -> Iterator[Visitor]:
    found = Visitor(chromium, regressed)
    yield found
    found.close()


def test_trials_of_both_arms_stay_in_the_row_of_their_task(regressed_visitor, regressed):
    run = next(one for one in regressed.data("runs") if one["outcome"] != "passed")
    page = regressed_visitor.visit(f"/runs/{run['id']}")
    rows = page.locator(".virtual tbody tr")
    for row in rows.all():
        marks = row.locator(".trials a")
        assert marks.count() == 6
        around = row.bounding_box()
        for mark in marks.all():
            box = mark.bounding_box()
            assert around["y"] <= box["y"]
            assert box["y"] + box["height"] <= around["y"] + around["height"] + 1
            assert mark.evaluate(
                "one => one.getBoundingClientRect().right <= one.closest('td').getBoundingClientRect().right"
            )


def test_a_verdict_that_passed_explains_no_failure(regressed_visitor, regressed):
    run = next(one for one in regressed.data("runs") if one["outcome"] != "passed")
    page = regressed_visitor.visit(f"/runs/{run['id']}/writes/1")
    expect(page.locator(".judged .well")).to_have_text("hello")
    assert page.locator("mark").count() == 0
    page.get_by_role("button", name="show in the output").click()
    expect(page.locator("mark")).to_have_text("hello")


def test_a_trend_shows_the_newest_run_although_a_task_broke(regressed_visitor):
    page = regressed_visitor.visit("/trends?suite=greeter")
    rate = page.locator("figure").filter(has_text="Success rate")
    expect(rate).to_contain_text("last 0% not all tasks measured")
    rate.get_by_text("As a table").click()
    expect(rate.locator("tbody tr").nth(1)).to_contain_text("1 of 2 tasks not measured")
    expect(page.get_by_role("region", name="Left out of changes and flips")).to_contain_text("1 of 2 tasks")


def test_documents_show_what_did_not_pass_first(visitor, served, runs):
    page = visitor.visit(pages(runs, served)["document"])
    first = page.locator("details.item").first
    expect(first).to_have_class(re.compile("fail|error|partial"))
    expect(first).to_have_attribute("open", "")
    page.get_by_role("button", name=re.compile("^pass ")).click()
    expect(page.locator("details.item").first).to_have_class(re.compile("pass"))


@pytest.mark.parametrize(
    ("address", "says"),
    [("/runs/broken%2Fresults.json", "Mend the file or remove it"), ("/runs/no-such-run", "no-such-run")],
)
def test_what_cannot_be_shown_says_why_and_what_to_do(
    chromium: Browser, served: Served, address: str, says: str
):
    visitor = Visitor(chromium, served)
    page = visitor.visit(address)
    expect(page.get_by_role("alert")).to_contain_text(says)
    assert findings(page) == []
    visitor.heard = [
        line for line in visitor.heard if "Failed to load resource" not in line
    ]  # how a browser tells of it
    visitor.close()


def test_a_file_that_cannot_be_read_is_in_the_list_with_the_reason(visitor):
    page = visitor.visit("/?outcome=unreadable")
    expect(page.locator(".virtual tbody tr")).to_contain_text("broken/results.json")


def test_an_empty_directory_says_how_to_begin(visit_others, tmp_path):
    visitor = visit_others(tmp_path)
    page = visitor.page()
    for address, says in {
        "/": "waza run eval.yaml",
        "/live": "waza run eval.yaml",
        "/trends": "waza run eval.yaml",
        "/experiments": "waza experiment plan",
        "/stored": ".waza.yaml",
        "/documents": "waza m365 run",
        "/compare": "Choose two runs",
    }.items():
        visitor.visit(address, page)
        expect(page.locator(".notice")).to_contain_text(says)
        assert findings(page) == [], address
        take_screenshot(page, f"empty{address.replace('/', '-')}")


def test_two_thousand_runs_are_asked_for_in_slices_and_drawn_by_the_screen(
    visit_others, project, runs, tmp_path
):
    results = results_of(project, runs[0])
    write_runs(tmp_path, {**results, "tasks": results["tasks"][:1]}, 2000)
    visitor = visit_others(tmp_path)
    page = visitor.visit("/")
    expect(page.get_by_role("table", name="Runs")).to_have_attribute("aria-rowcount", "2001")
    assert visitor.api_requests("/api/runs") == ["/api/runs?sort=timestamp&order=desc&offset=0&limit=100"]
    assert drawn_rows(page) < 50
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    last = page.locator(".virtual tbody tr[aria-rowindex='2001'] a")
    expect(last).to_have_attribute("href", re.compile("0000.json|many-0000"))
    assert drawn_rows(page) < 50
    assert all("limit=100" in url for url in visitor.api_requests("/api/runs"))
    assert len(visitor.api_requests("/api/runs")) <= 4
    last.click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.go_back()
    expect(last).to_be_in_viewport()  # where the reader was


def test_ten_thousand_tasks_are_asked_for_in_slices_and_drawn_by_the_screen(
    visit_others, project, runs, tmp_path
):
    write_large_run(tmp_path / "results.json", results_of(project, runs[0]), 10_000)
    visitor = visit_others(tmp_path)
    page = visitor.visit("/")
    page.get_by_role("link", name="greeter").click()
    expect(page.get_by_role("table", name="Tasks")).to_have_attribute("aria-rowcount", "10001")
    rows = page.locator(".virtual tbody tr")
    expect(rows.first).to_contain_text("Task 00099")
    assert drawn_rows(page) < 50
    for _ in range(3):
        page.keyboard.press("j")
    expect(page.locator(":focus")).to_have_text("Task 00299")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(page.locator(".virtual tbody tr[aria-rowindex='10001']")).to_contain_text("Task 09998")
    assert drawn_rows(page) < 50
    assert page.evaluate(TRANSFERRED) < 1_000_000
    asked = visitor.api_requests("/api/runs/[^/]+/tasks")
    assert len(asked) <= 4
    assert all("limit=100" in url for url in asked)


def test_what_is_replaced_while_it_is_served_is_shown_anew(visit_others, project, runs, tmp_path):
    results = results_of(project, runs[0])
    file = tmp_path / "results.json"
    file.write_text(json.dumps(results), encoding="utf-8")
    visitor = visit_others(tmp_path)
    page = visitor.visit("/")
    expect(page.get_by_role("link", name="greeter")).to_be_visible()
    (tmp_path / "new").write_text(json.dumps({**results, "eval_name": "another name"}), encoding="utf-8")
    shutil.move(tmp_path / "new", file)
    page.reload()
    expect(page.get_by_role("link", name="another name")).to_be_visible()


def test_embedded_data_are_shown_without_a_server(chromium, served, runs, tmp_path):
    """The page of `waza report` in small: the bundle in one file with its data, from the disk."""
    static = Path(__file__).parents[2] / "src/waza/dashboard/static/assets"
    if not static.is_dir():
        pytest.skip("the pages are not built: run `make dashboard`")
    (run, _) = runs
    tasks = served.data("runs", run, "tasks")
    data = {
        "version": "1",
        "heads": [served.data("runs", run, "head")],
        "tasks": {run: tasks},
        "trials": {
            run: [
                served.data("runs", run, "tasks", task["id"], "trials", str(trial["number"]))
                for task in tasks
                for trial in task["trials"]
                if trial["arm"] == "main"
            ]
        },
        "documents": [],
    }
    script, style = ((static / name).read_text(encoding="utf-8") for name in ("index.js", "index.css"))
    assert "</script" not in script
    assert "<!--" not in script
    assert "</style" not in style
    file = tmp_path / "report.html"
    file.write_text(
        f"<!doctype html><html lang=en><title>r</title><style>{style}</style><p data-reduced>reduced</p><div id=app></div>"
        f'<script type="application/json" id="waza-data">{json.dumps(data).replace("<", chr(92) + "u003c")}</script>'
        f'<script type="module">{script}</script></html>',
        encoding="utf-8",
    )
    context = chromium.new_context(offline=True)
    page = context.new_page()
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.goto(file.as_uri())
    expect(
        page.get_by_role("heading", level=1, name="greeter")
    ).to_be_visible()  # of one run, that run is shown
    expect(page.get_by_text("reduced")).to_have_count(0)
    page.get_by_role("searchbox").fill("pwned")
    expect(page.locator(".virtual tbody tr")).to_have_count(1)
    page.locator(".virtual tbody tr a").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(HOSTILE)
    assert page.get_by_role("navigation", name="Pages", exact=True).get_by_role("link").all_inner_texts() == [
        "Runs"
    ]
    assert page.evaluate("window.pwned") is None
    context.close()
    assert heard == []
    assert strict_json(json.dumps(data))
