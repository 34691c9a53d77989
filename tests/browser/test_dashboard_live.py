"""The live page follows a real `waza run`: through a reload, a new server, and a run that is killed and resumed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from tests.browser.dashboard import Visitor, findings, take_screenshot
from tests.support.dashboard import Served, serving
from tests.support.live import Project
from tests.support.program import mock_suite

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A suite of three tasks, each of which ends when there is a file of its name in `gates`."""
    found = Project(tmp_path)
    gates = found.home / "gates"
    gates.mkdir()
    mock_suite(
        found.home,
        {
            name: f"""name: The task {name}
inputs: {{prompt: p}}
mock: {{output: {output}, usage: {{input_tokens: 1000, output_tokens: 200}}}}
graders:
  - type: program
    name: waits
    config:
      command: sh
      args: ['-c', {"until test -e " + shlex.quote(str(gates / name)) + "; do sleep 0.05; done"!r}]
      timeout: 300
      cache_inputs: []
  - {{type: text, name: says, config: {{contains: [hello]}}}}"""
            for name, output in (("a", "hello"), ("b", "bye"), ("c", "hello"))
        },
        name="patient",
    )
    return found


@contextmanager
def visiting(chromium: Browser, served: Served) -> Iterator[Visitor]:
    visitor = Visitor(chromium, served)
    yield visitor
    visitor.close(connections_break=True)


def test_it_follows_a_run_through_reload_restart_kill_and_resume(chromium: Browser, project: Project):
    gates = project.home / "gates"
    with ExitStack() as stack:
        run = stack.enter_context(project.started("run", "eval.yaml"))
        served = stack.enter_context(serving(project.home))
        visitor = stack.enter_context(visiting(chromium, served))
        page = visitor.visit("/live")
        running, finished = (
            page.get_by_role("region", name=name) for name in ("Running now", "Trials that have finished")
        )
        expect(running).to_contain_text("The task a")
        expect(running).to_contain_text("grading")
        expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuetext", "0 of 3 trials")
        expect(page.locator(".connection")).to_have_text(re.compile("connected"))
        assert findings(page) == []
        take_screenshot(page, "live-begins")

        (gates / "a").touch()
        expect(finished).to_contain_text("The task a")
        expect(running).to_contain_text("The task b")
        expect(page.get_by_text("1.2K", exact=True)).to_be_visible()  # tokens so far
        page.reload()
        expect(finished).to_contain_text("The task a")
        expect(running).to_contain_text("The task b")

        served.stop()
        expect(page.locator(".connection")).to_have_text(re.compile("does not answer"))
        served = stack.enter_context(serving(project.home, "--port", str(served.port)))
        expect(page.locator(".connection")).to_have_text(re.compile("connected"))
        (gates / "b").touch()
        expect(finished).to_contain_text("The task b")
        expect(finished.locator("li.fail")).to_contain_text("no 'hello' in the output")
        take_screenshot(page, "live-goes-on")

        run.kill()
        expect(page.locator(".notice")).to_contain_text("cut off")
        resumed = stack.enter_context(project.started("run", "eval.yaml", "--resume"))
        expect(running).to_contain_text("The task c")
        expect(page.get_by_text("It does not go on")).to_have_count(0)
        (gates / "c").touch()
        assert resumed.ended().code == 1
        expect(page.locator(".notice")).to_contain_text("The run has ended: failed")
        expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuetext", "3 of 3 trials")
        assert finished.locator("li").count() == 3
        assert findings(page) == []
        take_screenshot(page, "live-ends")
        page.get_by_role("link", name="Show its results").click()
        expect(page.locator(".headline")).to_have_text(re.compile("Failed"))


def test_two_runs_at_once_are_both_offered(chromium: Browser, project: Project):
    with ExitStack() as stack:
        stack.enter_context(project.started("run", "eval.yaml"))
        stack.enter_context(project.started("run", "eval.yaml", "--model", "other"))
        visitor = stack.enter_context(visiting(chromium, stack.enter_context(serving(project.home))))
        page = visitor.visit("/live")
        expect(page.get_by_role("region", name="Running now")).to_contain_text("The task a")
        other = page.get_by_text("Also in progress").get_by_role("link")
        expect(other).to_have_count(1)
        before = page.url
        run_page = visitor.visit(f"/runs/{project.runs[0].name}")
        expect(run_page.get_by_role("button", name="not started 3")).to_be_visible()
        expect(run_page.get_by_text("The task c")).to_be_visible()
        other.click()
        expect(page).not_to_have_url(before)
        expect(page.get_by_role("region", name="Running now")).to_contain_text("The task a")
        for name in "abc":
            (project.home / "gates" / name).touch()
        expect(page.locator(".notice")).to_contain_text("The run has ended")
