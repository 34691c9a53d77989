"""The graders of tasks as they are proved: where each is declared, what it looks at, and why it is not proved."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec

from waza.author.prove.material import kept_files
from waza.author.prove.options import ProveOptions
from waza.author.prove.probe import EVERYTHING, Aspect
from waza.graders import TYPES
from waza.graders.base import Grader
from waza.graders.diff import Diff
from waza.graders.file import File
from waza.model.loaded import Suite
from waza.model.task import Task, TaskFile
from waza.model.verdict import BuiltGrader, Helpers
from waza.problem import display_path
from waza.suite.loading import Loading, TaskSource
from waza.suite.read import at
from waza.suite.requirements import declared_graders

_LOOKS_AT: dict[str, frozenset[Aspect]] = {
    "text": frozenset(("output",)),
    "json_schema": frozenset(("output",)),
    "action_sequence": frozenset(("calls",)),
    "behavior": frozenset(("calls",)),
    "tool_calls": frozenset(("calls",)),
    "tool_constraint": frozenset(("calls",)),
    "skill_invocation": frozenset(("skills",)),
    "file": frozenset(("files",)),
    "diff": frozenset(("files",)),
    "trigger": frozenset(),
    "_output_contains": frozenset(("output",)),
    "_output_not_contains": frozenset(("output",)),
    "_output_contains_any": frozenset(("output",)),
    "_behavior": frozenset(("calls",)),
    "_should_trigger": frozenset(("skills",)),
}
"""By type of grader, or by name of a check under `expected`; all others may look at everything."""

# By type of grader, the keys that ask for something, and those that only forbid.
_ASKS: dict[str, tuple[str, ...]] = {
    "text": ("contains", "contains_cs", "regex_match"),
    "behavior": ("required_tools",),
    "tool_calls": ("required_tools", "min_calls", "expect"),
    "tool_constraint": ("expect_tools",),
    "skill_invocation": ("required_skills",),
}
_FORBIDS: dict[str, tuple[str, ...]] = {
    "text": ("not_contains", "not_contains_cs", "regex_not_match"),
    "behavior": ("max_tool_calls", "max_tokens", "forbidden_tools"),
    "tool_calls": ("forbidden_tools", "max_calls"),
    "tool_constraint": ("reject_tools", "allow_only"),
    "skill_invocation": ("forbidden_skills",),
}
_CHILDREN = {"program", "wgp"}
_EXPECTED_KEYS = {
    "_output_contains": "output_contains",
    "_output_not_contains": "output_not_contains",
    "_output_contains_any": "output_contains_any",
    "_behavior": "behavior",
    "_should_trigger": "should_trigger",
}
"""The checks of `expected` by their names, with their keys."""


class GraderPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a grader is declared. `task` is the id of the first task that has it, empty for a grader of the suite."""

    name: str
    type: str
    file: str
    line: int = 1
    column: int = 1
    task: str = ""
    after_turn: int | None = None


class ProvableGrader(msgspec.Struct, frozen=True, kw_only=True):
    """A grader of a task. `lack` says why it is not proved, empty where it is. `keeps` are files that must stay as they are. `built` is None for a check of `expected`.

    With `ignores_answer`, its lack is that nothing in a scripted answer changes its verdict.
    """

    place: GraderPlace
    looks_at: frozenset[Aspect]
    lack: str = ""
    ignores_answer: bool = False
    only_forbids: bool = False
    forbids: bool = False
    keeps: tuple[str, ...] = ()
    built: BuiltGrader | None = None

    @property
    def key(self) -> tuple[int | None, str]:
        """What its verdicts are found by: the turn of its checkpoint, and its name."""
        return self.place.after_turn, self.place.name


def place_of_source(loading: Loading, source: TaskSource | None, key: str = "") -> GraderPlace:
    """Return the place of a key of a task's file, of the file, or of the suite's for a task that has no file."""
    if source is None:
        return GraderPlace(name="", type="", file=display_path(loading.path))
    node = at(source.document, key) if key else source.document.root
    return GraderPlace(
        name="", type="", file=source.document.file, line=max(node.line, 1), column=max(node.column, 1)
    )


def graders_by_task(
    suite: Suite, loading: Loading, tasks: Sequence[Task], options: ProveOptions
) -> dict[str, list[ProvableGrader]]:
    """Return the graders of tasks, by their ids, and why those that are not to be asked are not proved.

    `tasks` are the first of the suite, without what is missing of them.
    """
    places = _Places(loading)
    found = dict[str, list[ProvableGrader]]()
    for declared, task in zip(suite.tasks, tasks, strict=False):
        graders = list(_graders(suite, declared, task, places, options))
        found[task.id] = [*graders, *places.faulty(task, {one.key for one in graders})]
    return found


def _graders(
    suite: Suite, declared: Task, task: Task, places: _Places, options: ProveOptions
) -> Iterator[ProvableGrader]:
    incomplete = (task.inputs, task.instruction_files) != (declared.inputs, declared.instruction_files)
    points = [
        (None, task.graders),
        *((one.after_turn, one.graders) for one in task.checkpoints),
    ]
    for turn, graders in points:
        for built in graders:
            kind, grader = built.spec.type, built.grader
            asks = any(_is_given(grader, key) for key in _ASKS.get(kind, ()))
            forbids = any(_is_given(grader, key) for key in _FORBIDS.get(kind, ()))
            kept = kept_files(task, built)
            lack = _lack(suite, built, options) or (_MISSING if incomplete and _reads_files(built) else "")
            if isinstance(grader, File):
                asks = len(kept) < len(grader.must_exist) + len(grader.content_patterns)
                forbids = bool(kept or grader.must_not_exist) or any(
                    entry.must_not_match for entry in grader.content_patterns
                )
            elif isinstance(grader, Diff):
                asks, forbids = len(kept) < len(grader.expected_files), bool(kept)
            yield ProvableGrader(
                place=places.find(task, turn, built.spec.name, kind),
                looks_at=_LOOKS_AT.get(kind, EVERYTHING),
                lack=lack,
                ignores_answer=lack in (_TIMED, _PROMPT_ALONE),
                only_forbids=forbids and not asks,
                forbids=forbids,
                keeps=tuple(kept),
                built=built,
            )
    for name in _expected_checks(suite, task):
        behavior = task.expected.behavior
        asks = name in ("_output_contains", "_output_contains_any")
        if name == "_behavior" and behavior is not None:
            asks = bool(behavior.required_tools)
        if name == "_should_trigger":
            asks = bool(task.expected.should_trigger)
        kind = "behavior" if name == "_behavior" else "text"
        timed = name == "_behavior" and behavior is not None and behavior.checks == 1
        timed = timed and behavior is not None and bool(behavior.max_response_time_ms)
        yield ProvableGrader(
            place=places.find(task, None, name, "skill_invocation" if name == "_should_trigger" else kind),
            looks_at=_LOOKS_AT[name],
            lack=_TIMED if timed else "",
            ignores_answer=timed,
            only_forbids=not asks,
            forbids=not asks or name == "_behavior",
        )


_FAULTY = "it has mistakes"
_MISSING = "a file or repository of the task is missing"
_REWRITES = "it rewrites its own files, which a proof must not change"
_TIMED = "it looks at durations alone, which scripted agents do not have"
_PROMPT_ALONE = "it looks at the prompt alone, so that no answer changes its verdict"
_JUDGED = "it asks a judge; --judges asks it, too"
_SCRIPTED = "its judge is scripted, and says what its script says"
_IN_SESSION = "its judge continues the session of the agent, which a script has not"


def _lack(suite: Suite, built: BuiltGrader, options: ProveOptions) -> str:
    """Return why a grader is not proved, or an empty text."""
    kind, grader = built.spec.type, built.grader
    rewrites = getattr(grader, "rewrites", None)
    if rewrites is not None and rewrites(Helpers()):
        return _REWRITES
    if isinstance(grader, Grader) and grader.asks_judge:
        return _lack_of_judge(suite, grader, options)
    if kind == "evaluator" and isinstance(grader, Grader) and grader.extra_files() and not options.programs:
        return "it runs code of the project; --programs asks it, too"
    if kind == "trigger":
        return _PROMPT_ALONE
    if kind == "behavior" and not any(_is_given(grader, key) for key in (*_ASKS[kind], *_FORBIDS[kind])):
        return _TIMED
    if kind in _CHILDREN and not options.programs:
        return "it runs a program; --programs asks it, too"
    if kind not in TYPES and not options.programs:
        return f"it is of the type {kind}, which another package brings; --programs asks it, too"
    return ""


def _lack_of_judge(suite: Suite, grader: Grader, options: ProveOptions) -> str:
    if not options.judges:
        return _JUDGED
    if grader.needs_session:
        return _IN_SESSION
    return _SCRIPTED if suite.capabilities.scripted or not suite.capabilities.judge else ""


def _reads_files(built: BuiltGrader) -> bool:
    return isinstance(built.grader, Grader) and built.grader.reads_workspace


def _is_given(grader: object, key: str) -> bool:
    value = getattr(grader, key, None)
    empty: tuple[Any, ...] = ([], "", ()) if key in ("allow_only", "max_calls") else ([], "", (), 0)
    return value is not None and (key == "allow_only" or value not in empty)


def _expected_checks(suite: Suite, task: Task) -> Iterator[str]:
    """Yield the names of the checks that a task makes under `expected`."""
    expected, config = task.expected, suite.file.config
    for name in ("_output_contains", "_output_not_contains", "_output_contains_any"):
        if getattr(expected, _EXPECTED_KEYS[name]):
            yield name
    if not config.enforce_expected:
        return
    if expected.behavior is not None and expected.behavior.checks:
        yield "_behavior"
    if (
        expected.should_trigger is not None
        and not config.inject_skill_body
        and (task.target or suite.file.skill)
    ):
        yield "_should_trigger"


class _Places:
    """Finds where the graders of a suite are declared."""

    def __init__(self, loading: Loading) -> None:
        self._suite = display_path(loading.path)
        self._sources = {task.id: source for source in loading.sources for task in source.tasks}
        self._found: dict[str, dict[tuple[int | None, str], GraderPlace]] = {}
        for task_id, source in self._sources.items():
            first = source.tasks[0].id
            self._found[task_id] = self._declared(loading, source.document, source.file, first)
        self._of_suite = self._declared(loading, loading.document, TaskFile(), "")

    def find(self, task: Task, turn: int | None, name: str, kind: str) -> GraderPlace:
        """Return where a grader of a task is declared; one that nobody wrote is at the agent that implies it."""
        place = self._found.get(task.id, self._of_suite).get((turn, name))
        if place is not None:
            return msgspec.structs.replace(place, type=kind)
        source = self._sources.get(task.id)
        key = _EXPECTED_KEYS.get(name)
        if source is not None and key is not None:
            node = at(source.document, "expected", key)
            return GraderPlace(
                name=name, type=kind, file=source.document.file, line=max(node.line, 1),
                column=max(node.column, 1), task=source.tasks[0].id,
            )  # fmt: skip
        file = display_path(task.target.path) if task.target else self._suite
        return GraderPlace(name=name, type=kind, file=file)

    def faulty(self, task: Task, built: Collection[tuple[int | None, str]]) -> Iterator[ProvableGrader]:
        """Yield the graders of a task that could not be built."""
        for key, place in self._found.get(task.id, self._of_suite).items():
            if key not in built and place.name:
                yield ProvableGrader(place=place, looks_at=frozenset(), lack=_FAULTY)

    def _declared(
        self, loading: Loading, document: Any, file: TaskFile, task: str
    ) -> dict[tuple[int | None, str], GraderPlace]:
        found = {}
        for one in declared_graders(loading, document, file):
            own = one.scope != "eval"
            home = document if own else loading.document
            node = at(home, *one.path)
            found[one.after_turn, one.name] = GraderPlace(
                name=one.name,
                type="",
                file=home.file,
                line=max(node.line, 1),
                column=max(node.column, 1),
                task=task if own else "",
                after_turn=one.after_turn,
            )
        return found
