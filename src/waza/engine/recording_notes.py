"""What people should know before they trust verdicts over a recording: what it does not show, and where it differs."""

from __future__ import annotations

from collections.abc import Iterator

from waza.engine.assign_recordings import same_prompt
from waza.graders.base import Grader
from waza.kit.text import pluralize
from waza.model.loaded import Suite
from waza.model.recording import Recording
from waza.model.skill import canonical_tool
from waza.model.task import Task


def unseen_of(seen: Recording) -> dict[str, str]:
    """Return what a recording does not show, and why, by the capability of executors that reports it."""
    found = {"command_mocks": "no program was mocked where the agent ran"}
    if seen.usage is None:
        found["usage"] = "the transcript does not say how many tokens were used"
    if seen.duration_ms is None:
        found["duration"] = "the transcript does not say how long the agent worked"
    return found


def notes_on(suite: Suite, task: Task, number: int, seen: Recording) -> Iterator[str]:
    """Yield what is to be said of the grading of one recording."""
    yield from seen.notes
    for note in (*_on_prompts(task, seen), *_on_agent(suite, task, seen), *_on_tools(task, seen)):
        yield f"{task.name}, trial {number} ({seen.file}): {note}"


def _on_prompts(task: Task, seen: Recording) -> Iterator[str]:
    unknown = seen.prompts.count(None)
    if unknown:
        yield f"the transcript does not have {pluralize(unknown, 'prompt')}; those of the task are taken to be sent"
    elif not same_prompt(task, seen.prompts[0] or ""):
        yield "its prompt is not the one of the task"
    planned = 1 + len(task.follow_ups)
    if task.inputs.responder is None and len(seen.turns) != planned:
        yield f"it has {pluralize(len(seen.turns), 'turn')}, and the task {planned}"


def _on_agent(suite: Suite, task: Task, seen: Recording) -> Iterator[str]:
    skill = task.target.name if task.target else suite.file.skill
    offered = seen.offered_skills
    is_skill = task.target is None or task.target.kind == "skill"
    if (
        skill
        and is_skill
        and offered is not None
        and skill not in {one.rpartition(":")[2] for one in offered}
    ):
        yield f"the skill {skill!r} was not offered to the agent"
    calls = sum(len(one.calls) for one in seen.sub_agents)
    if seen.sub_agents:
        yield (
            f"{pluralize(len(seen.sub_agents), 'sub-agent')} made {pluralize(calls, 'tool call')}, "
            "which are not the agent's own: no grader looks at them"
        )
    if seen.skills_inferred and _looks_at_skills(task):
        yield "invocations of skills are not recorded; they are inferred from calls that show a SKILL.md"
    unknown = sum(call.success is None for call in seen.tool_events)
    if unknown:
        yield f"whether {pluralize(unknown, 'tool call')} succeeded is not recorded, and not assumed"


def _looks_at_skills(task: Task) -> bool:
    return task.expected.should_trigger is not None or any(
        built.spec.type == "skill_invocation" for built in task.all_graders
    )


def _on_tools(task: Task, seen: Recording) -> Iterator[str]:
    """Yield where a check names a tool as this agent does not: a forbidden one would never be found."""
    used = {call.tool_name for call in seen.tool_events}
    for check, names in _named_tools(task):
        for name in sorted(names - used):
            same = sorted(one for one in used if canonical_tool(one) == canonical_tool(name))
            if same:
                yield (
                    f"{check} names the tool {name!r}, which this agent calls {same[0]!r}; "
                    "names are compared exactly, so write the one of the agent"
                )


def _named_tools(task: Task) -> Iterator[tuple[str, set[str]]]:
    for built in task.all_graders:
        names = built.grader.exact_names() if isinstance(built.grader, Grader) else ()
        yield f"the grader {built.spec.name}", {one.text for one in names if one.kind == "tool"}
    if (behavior := task.expected.behavior) is not None:
        yield "expected.behavior", {*behavior.required_tools, *behavior.forbidden_tools}
