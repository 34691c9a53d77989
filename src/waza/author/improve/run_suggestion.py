"""`waza run --suggest`: what to change in a skill, by what a run of its suite shows.

A model is asked once for each run with failures. A scripted executor is only asked where its script has an answer
(`mock.judge.suggest_changes`); else the text is made of the counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from waza.author.improve.ask import Asker, compose
from waza.kit.text import pluralize, shorten_middle
from waza.model.loaded import Suite
from waza.model.result import TaskResult, TrialResult, TriggerResult
from waza.report.routing import expectation, invocation
from waza.report.words import one_line, shortened
from waza.results.outcome import Outcome
from waza.results.routing import list_wrong

ASKER = "suggest_changes"
"""The name by which a scripted judge knows the question."""

_LARGEST = 100_000  # bytes of a file of the skill
_SKILL_TEXT = 120_000  # characters of all of its files
_MOST_TASKS = 10  # failing tasks whose details are shown
_DEFINITION, _OUTPUT, _FEEDBACK = 4000, 2000, 1000  # characters
_CALLS = 30  # tool calls of a trial

_TASK = """An AI agent was given tasks that a skill or custom agent is meant for, and some of them did not pass. Below are the files of
the skill, the tasks, what graders say, and how the agent went about it. Find out why, and what to change in the skill so that an
agent does these tasks well. Say so, too, where a task or a grader is at fault, or where there is too little to go by. Do not
propose text that only repeats what these tasks expect.

Answer in Markdown with two sections: `## Findings`, a list of causes, each with the tasks that show it, and `## Changes`, a list
of changes, each with the file and the text to add, replace or remove."""


class Failures(msgspec.Struct, frozen=True, kw_only=True):
    """What did not pass in a run: tasks, with a trial of each that shows why, and prompts of trigger tests."""

    tasks: tuple[tuple[TaskResult, TrialResult | None], ...]
    triggers: tuple[TriggerResult, ...]

    @property
    def grader_types(self) -> list[str]:
        """The types of the graders that did not pass."""
        found = (
            check.type
            for _, trial in self.tasks
            for check in ((trial.validations if trial else None) or {}).values()
            if not check.passed
        )
        return sorted(dict.fromkeys(found))


def find_failures(outcome: Outcome) -> Failures:
    """Return what did not pass in a run; skipped tasks are no failures. Of each task one trial is kept."""
    tasks = [
        (
            msgspec.structs.replace(task, runs=[]),
            next((one for one in task.runs if one.status != "passed"), None),
        )
        for task in outcome.tasks()
        if task.status in ("failed", "error")
    ]
    return Failures(tasks=tuple(tasks), triggers=tuple(list_wrong(outcome.head)))


async def suggest_changes(
    suite: Suite, outcome: Outcome, failures: Failures, asker: Asker, describe: Callable[[str], str]
) -> str:
    """Return what to change, as Markdown. `describe` returns the reference of a grader type. Raises AskError."""
    script = suite.file.mock.judge if suite.file.mock else None
    if suite.capabilities.scripted and ASKER not in (script or {}):
        return _count(outcome, failures)
    return (await asker.ask(ASKER, _question(suite, failures, describe))).strip()


def _count(outcome: Outcome, failures: Failures) -> str:
    """Return what the counts alone say."""
    summary = outcome.head.summary
    lines = ["## Findings", ""]
    if failures.tasks:
        lines.append(f"- {pluralize(len(failures.tasks), 'task')} of {summary.total_tests} did not pass.")
        checks = Counter(
            name
            for _, trial in failures.tasks
            for name, check in ((trial.validations if trial else None) or {}).items()
            if not check.passed
        )
        lines += [
            f"- The grader {name} did not pass in {pluralize(count, 'task')}."
            for name, count in checks.most_common()
        ]
    if failures.triggers:
        of = len(outcome.head.trigger_results)
        lines.append(
            f"- {len(failures.triggers)} of {of} prompts of the trigger tests had the wrong outcome."
        )
    lines += [
        "",
        "## Changes",
        "",
        "- None: a scripted agent says nothing about the skill. Run the suite with a real agent.",
    ]
    return "\n".join(lines)


def _question(suite: Suite, failures: Failures, describe: Callable[[str], str]) -> str:
    material = [*_read_skill(suite)]
    by_id = {task.id: task for task in suite.tasks}
    shown = failures.tasks[:_MOST_TASKS]
    for result, trial in shown:
        task = by_id.get(result.test_id)
        definition = _read_text(Path(task.file)) if task and task.file else None
        if definition:
            material.append((f"Task {result.test_id}", shortened(definition, _DEFINITION)))
        material.append((f"What happened in {result.test_id}", "\n".join(_describe_trial(result, trial))))
    if len(failures.tasks) > len(shown):
        rest = ", ".join(task.test_id for task, _ in failures.tasks[_MOST_TASKS:])
        material.append(("Further tasks that did not pass", shortened(rest, _DEFINITION)))
    if failures.triggers:
        material.append(
            ("Prompts with the wrong outcome", "\n".join(map(_describe_trigger, failures.triggers)))
        )
    material += [
        (f"Grader {name}", describe(name)) for name in failures.grader_types if not name.startswith("_")
    ]
    return compose(_TASK, material)


def _read_skill(suite: Suite) -> Iterator[tuple[str, str]]:
    """Yield the text files of what the suite tests, the definition first, as far as there is space for them."""
    targets = [suite.trigger_target, *(task.target for task in suite.tasks)]
    left = _SKILL_TEXT
    omitted: list[str] = []
    for target in {one.path: one for one in targets if one}.values():
        files = [target.path]
        if target.kind == "skill":
            files += sorted(
                path for path in target.directory.rglob("*") if path.is_file() and path != target.path
            )
        for path in files:
            name = path.relative_to(target.directory).as_posix()
            text = None if any(part.startswith(".") for part in Path(name).parts) else _read_text(path)
            if text is None or len(text) > left:
                omitted.append(name)
                continue
            left -= len(text)
            yield name, text
    if omitted:
        yield "Further files of the skill, not shown", shortened("\n".join(omitted), _DEFINITION)


def _read_text(path: Path) -> str | None:
    """Return the text of a file; None for one that is large, or not text."""
    try:
        if path.stat().st_size > _LARGEST:
            return None
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return None


def _describe_trial(task: TaskResult, trial: TrialResult | None) -> Iterator[str]:
    yield f"status: {task.status}"
    if task.error_msg:
        yield f"error: {one_line(task.error_msg, _FEEDBACK)}"
    if trial is None:
        return
    if trial.error_msg:
        yield f"error: {one_line(trial.error_msg, _FEEDBACK)}"
    for name, check in (trial.validations or {}).items():
        word = "passed" if check.passed else "did not pass"
        yield f"grader {name} ({check.type}) {word}, score {check.score:g}: {one_line(check.feedback, _FEEDBACK)}"
    yield from _describe_calls(trial)
    yield f"answer:\n{shorten_middle(trial.final_output, _OUTPUT)}"


def _describe_calls(trial: TrialResult) -> Iterator[str]:
    calls: Sequence[str] = [
        f"tool {call.name}: {'failed' if call.success is False else 'done'}: {one_line(str(call.arguments), 200)}"
        for call in trial.session_digest.tool_calls
    ]
    yield from calls[:_CALLS]
    if len(calls) > _CALLS:
        yield f"and {len(calls) - _CALLS} more tool calls"


def _describe_trigger(found: TriggerResult) -> str:
    wanted = "should invoke the skill" if found.should_trigger else "should not invoke the skill"
    got = "did" if found.did_trigger else "did not"
    if found.expected_skill:  # which may be a neighbour
        wanted, got = expectation(found.expected_skill, ""), invocation(found.invoked_skills or [])
    if found.error_msg:
        got = f"ended in an error: {one_line(found.error_msg, 200)}"
    return f"- {one_line(found.prompt, 500)!r} {wanted} and {got}"
