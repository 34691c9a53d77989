"""From a grader of a case to one of a suite that reaches the same verdict, or to a note that there is none."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec

from waza.foreign.notes import Notes
from waza.foreign.plugin_evals.cases import (
    Baseline,
    CaseGrader,
    FileExists,
    FileTarget,
    Llm,
    PlacedGrader,
    Regex,
    ToolOrder,
    ToolPattern,
    ToolUsed,
)
from waza.foreign.plugin_evals.patterns import UntranslatableError, translate
from waza.foreign.verbatim import in_config
from waza.kit.files import safe_join
from waza.kit.pattern import compile_pattern

_SKILL = "Skill"
_OTHER_NAMES = {
    "Read": "view",
    "Write": "create",
    "Edit": "edit",
    "Bash": "bash",
    "Glob": "glob",
    "Grep": "grep",
    "WebFetch": "web_fetch",
    "Skill": "skill",
    "Agent": "task",
}
"""What tools of Claude Code are called in Copilot."""
_GLOB = frozenset("*?[]{}!()")
# The arguments that every call has in assertions, empty where the agent gave none.
_COMMON = ("path", "file_text", "command", "description", "skill")
_JUDGE = """Do the criteria below hold, taken together? Give one verdict.

Criteria:
"""
_JUDGE_FILE = """Judge the content of the file {path} in the workspace, not the reply. If there is no such file, fail it.
Do the criteria below hold for it, taken together? Give one verdict.

Criteria:
"""


class GraderContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a grader is converted for.

    `skills` are the names of the skills of `plugins`, `fixtures` the paths that are in the workspace at the start.
    `two_arms`: there they run with the plugin and without it, where nobody says otherwise.
    """

    plugins: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    fixtures: Collection[str] = ()
    two_arms: bool = False


def convert(placed: PlacedGrader, context: GraderContext, notes: Notes) -> dict[str, Any] | None:
    """Return the entry of a suite, or None where there is no equal, which is noted then."""
    grader = placed.grader
    converter = _Converter(placed, context, notes)
    try:
        kind, config = converter.convert()
    except _NoEqualError as error:
        converter.note(f"not checked: {error}, which has no equal here", unchecked=True)
        return None
    entry: dict[str, Any] = {"type": kind, "name": grader.name}
    if grader.weight != 1:
        entry["weight"] = int(grader.weight) if float(grader.weight).is_integer() else grader.weight
    if is_unscored(grader, context):
        entry["only_with_skills"] = True
    return {**entry, "config": config}


def is_unscored(grader: CaseGrader, context: GraderContext) -> bool:
    """Return whether a grader is shown and not scored where cases run with the plugin and without it."""
    if not context.two_arms or grader.arm == "both":
        return False
    uses_skill = isinstance(grader, ToolUsed) and grader.tool == _SKILL
    mocked = isinstance(grader, Regex) and grader.target == "mock_calls"
    return grader.arm == "with-only" or uses_skill or mocked


class _NoEqualError(Exception):
    """What a grader checks cannot be checked here; the message says what that is."""


class _Converter:
    """Converts one grader."""

    def __init__(self, placed: PlacedGrader, context: GraderContext, notes: Notes) -> None:
        self.placed, self.context, self.notes = placed, context, notes
        self.grader = placed.grader

    def convert(self) -> tuple[str, dict[str, Any]]:
        """Return type and config of the grader. Raises _NoEqualError."""
        grader = self.grader
        if isinstance(grader, Regex):
            return self._regex(grader)
        if isinstance(grader, ToolUsed):
            return self._tool_used(grader)
        if isinstance(grader, ToolOrder):
            return self._tool_order(grader)
        if isinstance(grader, FileExists):
            return self._file_exists(grader)
        if isinstance(grader, Llm):
            return self._llm(grader)
        if isinstance(grader, Baseline):
            raise _NoEqualError("compares with a transcript of an earlier session")
        raise AssertionError(grader)

    def note(self, message: str, *, unchecked: bool = False) -> None:
        """Note something about the grader."""
        what = f"grader {self.grader.name!r} ({self.grader.type})"
        self.notes.add(self.placed.file, what, message, line=self.placed.line, unchecked=unchecked)

    def _regex(self, grader: Regex) -> tuple[str, dict[str, Any]]:
        if isinstance(grader.target, FileTarget):
            return self._regex_on_file(grader, grader.target.path)
        if grader.target != "last_message":
            raise _NoEqualError(f"looks at {grader.target}")
        key = {"contains": "regex_match", "not_contains": "regex_not_match"}.get(grader.match)
        if key:
            try:
                return "text", {key: [in_config(translate(grader.pattern, grader.flags))]}
            except UntranslatableError:
                pass
        pattern = _quoted(grader.pattern)
        if key:
            found = f"new RegExp({pattern}, {_quoted(grader.flags)}).test(output)"
            return _javascript(f"{'' if grader.match == 'contains' else '!'}{found}")
        flags = grader.flags if "g" in grader.flags else f"g{grader.flags}"
        count = int(grader.match.removeprefix("count:"))
        return _javascript(
            f"(output.match(new RegExp({pattern}, {_quoted(flags)})) || []).length === {count}"
        )

    def _regex_on_file(self, grader: Regex, path: str) -> tuple[str, dict[str, Any]]:
        key = {"contains": "must_match", "not_contains": "must_not_match"}.get(grader.match)
        if key is None:
            raise _NoEqualError(f"counts matches in the file {path!r}")
        _refuse_outside(path)
        try:
            pattern = translate(grader.pattern, grader.flags)
        except UntranslatableError:
            what = f"looks in a file for a pattern that only JavaScript has ({grader.pattern!r})"
            raise _NoEqualError(what) from None
        return "file", {"content_patterns": [{"path": in_config(path), key: [in_config(pattern)]}]}

    def _tool_used(self, grader: ToolUsed) -> tuple[str, dict[str, Any]]:
        if grader.tool == _SKILL and (made := self._skill_used(grader)):
            return made
        names = self._names(grader.tool)
        plain = grader.input_match is None
        if plain and grader.min == 1 and grader.max is None:
            if names == [grader.tool]:
                return "tool_calls", {"required_tools": [in_config(grader.tool)]}
            return "tool_calls", {"expect": [{"tool": f"^(?:{'|'.join(names)})$"}]}
        if plain and grader.min == 0 and grader.max == 0:
            return "tool_calls", {"forbidden_tools": [in_config(name) for name in names]}
        self._note_arguments(grader.input_match, grader.tool)
        upper = "" if grader.max is None else f" && n <= {grader.max}"
        calls = f"tool_calls.filter({_is_call(names, grader.input_match)}).length"
        return _javascript(f"((n) => n >= {grader.min}{upper})({calls})")

    def _skill_used(self, grader: ToolUsed) -> tuple[str, dict[str, Any]] | None:
        """Return the check of an invoked skill, however the agent invokes it; None where that is not what is meant."""
        wanted = self._skills_meant(grader.input_match)
        if grader.min == 0 and grader.max == 0 and wanted:
            return "skill_invocation", {"forbidden_skills": wanted}
        if grader.min == 1 and grader.max is None and len(wanted) == 1:
            return "skill_invocation", {"required_skills": wanted, "mode": "any_order"}
        return None

    def _skills_meant(self, input_match: str | None) -> list[str]:
        """Return the skills whose invocation a pattern is about; none where it might be about others."""
        if input_match is None:
            return list(self.context.skills)
        try:
            pattern = compile_pattern(translate(input_match, ""))
        except UntranslatableError:
            return []

        def matches(name: str) -> bool:
            return any(
                pattern.search(json.dumps({"skill": called}, separators=separators, ensure_ascii=False))
                for called in (name, *(f"{plugin}:{name}" for plugin in self.context.plugins))
                for separators in ((",", ":"), (", ", ": "))
            )

        return [] if matches("some-other-skill") else [name for name in self.context.skills if matches(name)]

    def _tool_order(self, grader: ToolOrder) -> tuple[str, dict[str, Any]]:
        first = [self._first_call(one) for one in (grader.before, grader.after)]
        return _javascript(f"((b, a) => b >= 0 && a >= 0 && b < a)({', '.join(first)})")

    def _first_call(self, given: str | ToolPattern) -> str:
        one = ToolPattern(tool=given) if isinstance(given, str) else given
        self._note_arguments(one.input_match, one.tool)
        return f"tool_calls.findIndex({_is_call(self._names(one.tool), one.input_match)})"

    def _names(self, tool: str) -> list[str]:
        """Return the names that count as a tool, and note them."""
        other = _OTHER_NAMES.get(tool)
        if other is None:
            self.note(f"calls of {tool!r} count by this name alone; other agents have other names")
            return [tool]
        self.note(f"calls of {tool!r} count, and those of {other!r}, as Copilot calls it")
        return [tool, other]

    def _note_arguments(self, input_match: str | None, tool: str) -> None:
        if input_match is not None:
            self.note(f"the pattern for the input of {tool!r} is made for the arguments that Claude Code has")

    def _file_exists(self, grader: FileExists) -> tuple[str, dict[str, Any]]:
        path = grader.path.removeprefix("./")
        if _GLOB & set(path):
            raise _NoEqualError(f"looks for files by a pattern ({grader.path})")
        _refuse_outside(path)
        if path in self.context.fixtures:
            raise _NoEqualError(f"only files that the agent makes count, and {path!r} is there before")
        return "file", {"must_exist" if grader.exists else "must_not_exist": [in_config(path)]}

    def _llm(self, grader: Llm) -> tuple[str, dict[str, Any]]:
        self.note("one verdict of a judge counts; there two of three must agree")
        if isinstance(grader.focus, FileTarget):
            self.note("the judge is asked to read the file; there it is given its content")
            prompt = _JUDGE_FILE.format(path=grader.focus.path) + grader.criteria
            return "prompt", {"prompt": in_config(prompt)}
        if grader.focus != "last_message":
            raise _NoEqualError(f"judges {grader.focus}")
        return "prompt", {"prompt": in_config(_JUDGE + grader.criteria)}


def _refuse_outside(path: str) -> None:
    try:
        inside = safe_join(Path(), path) != Path()
    except ValueError as error:
        raise _NoEqualError(f"looks outside of the workspace ({error})") from None
    if not inside:
        raise _NoEqualError("looks at the workspace itself")


def _is_call(names: list[str], input_match: str | None) -> str:
    """Return a JavaScript function that tells whether a call is of one of these tools, and its input matches."""
    named = f"{_quoted(names)}.includes(c.name)"
    if input_match is None:
        return f"(c) => {named}"
    given = f"Object.entries(c.arguments).filter(([k, v]) => v !== '' || !{_quoted(_COMMON)}.includes(k))"
    text = f"JSON.stringify(Object.fromEntries({given}))"
    return f"(c) => {named} && new RegExp({_quoted(input_match)}).test({text})"


def _quoted(value: Any) -> str:
    """Return a text or texts as JavaScript, in which no template of waza can be."""
    return json.dumps(value).replace("{{", "\\u007b\\u007b")


def _javascript(assertion: str) -> tuple[str, dict[str, Any]]:
    return "code", {"language": "javascript", "assertions": [assertion]}
