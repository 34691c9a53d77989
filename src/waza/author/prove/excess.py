"""An agent that does what graders forbid: without it, a grader that only forbids would seem never to fail."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from waza.author.prove.agents import EXCESS
from waza.author.prove.graders import ProvableGrader
from waza.author.prove.probe import Probe, count_turns, make_script
from waza.graders.behavior import Behavior
from waza.graders.file import File
from waza.graders.skill_invocation import SkillInvocationGrader
from waza.graders.text import Text
from waza.graders.tool_calls import ToolCalls
from waza.graders.tool_constraint import ToolConstraint, ToolSpec
from waza.kit.pattern import PatternError, compile_pattern
from waza.model.mock import MockTurn, ScriptedCall, ScriptedFile, ScriptedUsage
from waza.model.task import Task

_MOST_CALLS = 1000
_TOKENS = 10**9  # more than any limit
_UNLISTED = "tool_that_no_list_has"
_REDUCTIONS = (
    (r"\(\?[a-zA-Z-]+\)", ""),  # flags
    (r"\\[bBAzZ]|[\^$](?![^\[]*\])", ""),  # places
    (r"\\d", "1"),
    (r"\\s", " "),
    (r"\\[wSD]", "a"),
    (r"\[([^\]\\^-])[^\]]*\]", r"\1"),  # a class: its first character
    (r"\.[*+]\??", " "),
    (r"(.)\{(\d+)(?:,\d*)?\}", None),  # repetitions
    (r"(?<!\\)[*+?]\??", ""),
)
_GROUP = re.compile(r"\((?:\?:|\?P?<\w+>)?([^()|]*)(?:\|[^()]*)?\)")


def sample(pattern: str, *, ignore_case: bool = False) -> str:
    """Return a text in which a simple pattern is found; an empty text where none is known."""
    text = pattern
    for what, by in _REDUCTIONS:
        text = re.sub(what, by if by is not None else lambda found: found[1] * min(int(found[2]), 99), text)
    while (reduced := _GROUP.sub(r"\1", text)) != text:
        text = reduced
    candidates = [re.sub(r"\\(.)", r"\1", part) for part in (text.split("|")[0], pattern)]
    try:
        compiled = compile_pattern(pattern, ignore_case=ignore_case)
    except PatternError:
        return ""
    return next((one for one in candidates if one and compiled.search(one)), "")


def excessive_agent(task: Task, graders: Sequence[ProvableGrader]) -> Probe:
    """Return an agent that does all that these graders of a task forbid, as far as it can be scripted."""
    deeds = _Deeds()
    for one in graders:
        deeds.add(one.built.grader if one.built else None)
        deeds.removed += one.keeps
    expected, behavior = task.expected, task.expected.behavior
    deeds.texts += expected.output_not_contains
    if behavior is not None:
        deeds.call(behavior.forbidden_tools, behavior.max_tool_calls)
    if expected.should_trigger is False and task.target is not None:
        deeds.skills.append(task.target.name)
    turn = MockTurn(
        output="\n".join(deeds.texts),
        tool_calls=list(deeds.all_calls()),
        skills=list(dict.fromkeys(deeds.skills)),
        files=[ScriptedFile(path=path, content=content) for path, content in deeds.files.items()],
        delete=list(dict.fromkeys(deeds.removed)),
        usage=ScriptedUsage(input_tokens=_TOKENS, output_tokens=_TOKENS),
    )
    return Probe(name=EXCESS, kind="excess", script=make_script(task, [turn] * count_turns(task)))


class _Deeds:
    """What the agent answers, calls, invokes, writes and removes."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.calls: list[ScriptedCall] = []
        self.least = 1  # calls in all
        self.skills: list[str] = []
        self.files: dict[str, str] = {}
        self.removed: list[str] = []

    def add(self, grader: Any) -> None:
        """Do what a grader forbids."""
        if isinstance(grader, Text):
            self.texts += [*grader.not_contains, *grader.not_contains_cs, *_samples(grader.regex_not_match)]
        elif isinstance(grader, Behavior):
            self.call(grader.forbidden_tools, grader.max_tool_calls)
        elif isinstance(grader, ToolCalls):
            self.call(grader.forbidden_tools, grader.max_calls)
        elif isinstance(grader, ToolConstraint):
            self.calls += map(_rejected_call, grader.reject_tools)
        elif isinstance(grader, SkillInvocationGrader):
            self.skills += grader.forbidden_skills
        elif isinstance(grader, File):
            self.files |= dict.fromkeys(grader.must_not_exist, "forbidden\n")
            for entry in grader.content_patterns:
                if entry.must_not_match:
                    self.files[entry.path] = "\n".join(_samples(entry.must_not_match))

    def call(self, tools: Iterable[str], most: int | None) -> None:
        """Call tools, and more often than a limit."""
        self.calls += [ScriptedCall(name=name) for name in tools]
        self.least = max(self.least, (most or 0) + 1)

    def all_calls(self) -> Iterator[ScriptedCall]:
        """Yield all calls, the last of which no list of tools has."""
        yield from self.calls
        for _ in range(max(1, min(self.least, _MOST_CALLS) - len(self.calls))):
            yield ScriptedCall(name=_UNLISTED)


def _samples(patterns: Iterable[str]) -> list[str]:
    return [text for text in map(sample, patterns) if text]


def _rejected_call(spec: ToolSpec) -> ScriptedCall:
    args: dict[str, Any] = {
        name: sample(pattern, ignore_case=True) for name, pattern in spec.patterns.items()
    }
    args |= {name: _argument(matcher) for name, matcher in spec.args.items()}
    return ScriptedCall(name=sample(spec.tool.strip(), ignore_case=True) or spec.tool.strip(), args=args)


def _argument(matcher: Any) -> Any:
    """Return a value that a matcher accepts, where that is easy to find."""
    if matcher.contains is not None:
        return matcher.contains
    if matcher.regex is not None:
        return sample(matcher.regex)
    if matcher.range is not None:
        bounds: Mapping[str, float | None] = {key: getattr(matcher.range, key) for key in ("gte", "lte")}
        return next((bound for bound in bounds.values() if bound is not None), 0)
    return "" if matcher.json_schema is not None else matcher.equals
