"""`waza dev --copilot`: what a model advises about a skill's description and text, in Markdown. Nothing is changed."""

from __future__ import annotations

from collections.abc import Sequence

from waza.author.check.report import TargetReport
from waza.author.check.source import Source
from waza.author.improve.ask import Asker, compose
from waza.model.loaded import TriggerTests
from waza.report.words import one_line

ASKER = "dev_advice"
"""The name by which a scripted judge knows the question (`mock.judge.dev_advice`)."""

_FINDINGS, _PROMPTS = 30, 30

_TASK = """An AI agent chooses skills by their descriptions alone, and reads the text of a skill when it has chosen it. Below is a skill
with what a checker finds, and requests that it should and should not be chosen for, if there are any. Advise its author: what to
change in the description so that the skill is chosen for the right requests and only those, and what to change in the text so
that an agent follows it well. Give new wording where you can. A description has at most 1,024 characters; the checker looks for
'USE FOR:', 'DO NOT USE FOR:' and 'INVOKES:' in it.

Answer in Markdown, in at most 60 lines."""


async def advise_skill(source: Source, report: TargetReport, tests: TriggerTests | None, asker: Asker) -> str:
    """Return what a model advises. Raises AskError without an answer, and NotAskedError in a preview."""
    material = [(source.path.name, source.text)]
    findings = [f"- {one.severity} {one.code}: {one.message}" for one in report.findings[:_FINDINGS]]
    if findings:
        material.append(("Findings of the checker", "\n".join(map(one_line, findings))))
    if tests is not None:
        for title, prompts in (
            ("Requests that it should be chosen for", tests.should_trigger_prompts),
            ("Requests that it should not be chosen for", tests.should_not_trigger_prompts),
        ):
            material += _list_prompts(title, [one.prompt for one in prompts])
    return (await asker.ask(ASKER, compose(_TASK, material))).strip()


def _list_prompts(title: str, prompts: Sequence[str]) -> list[tuple[str, str]]:
    return (
        [(title, "\n".join(f"- {one_line(prompt, 300)}" for prompt in prompts[:_PROMPTS]))] if prompts else []
    )


def advice_lines(name: str, level: str, asked: str, report: TargetReport, advice: str) -> list[str]:
    """Return the report as Markdown: who was asked, facts about the skill, and the advice."""
    budget = report.token_budget
    facts = [f"- Level: {level}", f"- Findings: {report.counted}"]
    if budget:
        facts.append(f"- Tokens: {budget.count:,} of {budget.limit:,}")
    return [f"# {one_line(name)}", "", f"Asked: {one_line(asked)}", "", *facts, "", "## Advice", "", advice]
