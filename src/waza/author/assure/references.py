"""The reference cases of a suite: read from a file, and joined with its tasks and graders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from waza.author.prove.graders import ProvableGrader
from waza.author.prove.probe import count_turns, make_script
from waza.errors import SuiteError
from waza.kit.decode import Decoder, fields_of
from waza.kit.names import did_you_mean
from waza.kit.text import pluralize
from waza.model.mock import MockBlock, MockScript, MockTurn
from waza.model.references import ReferenceCase, References
from waza.model.task import Task
from waza.problem import Problem
from waza.suite.loading import Loading, Scope
from waza.suite.mock import build_mock_script
from waza.suite.read import at, read_document

_TURN_KEYS = tuple(field.name for field in fields_of(MockTurn))
_ANSWER_KEYS = frozenset((*(field.key for field in fields_of(MockTurn)), "turns"))


class JoinedCase(msgspec.Struct, frozen=True, kw_only=True):
    """A case with the task that it is for, the grader that it names, if any, and the script that gives its answer.

    `file` is as it is shown to people; `line` and `column` count from 1.
    """

    case: ReferenceCase
    task: Task
    grader: ProvableGrader | None
    script: MockScript
    file: str
    line: int
    column: int


def read_references(
    path: Path, loading: Loading, tasks: Sequence[Task], graders: Mapping[str, Sequence[ProvableGrader]]
) -> list[JoinedCase]:
    """Return the cases of a file in their order. `graders` are those of each task, by its id.

    Raises SuiteError with every mistake in the file.
    """
    document = read_document(path, "references")
    if isinstance(document, Problem):
        raise SuiteError([document])
    decoder = Decoder(document)
    file, document = decoder.read_partial(References)
    # A list of its own for the mistakes, since these are not the suite's.
    loading = msgspec.structs.replace(loading, problems=[*decoder.problems])
    scope = Scope(loading, document)
    cases = file.cases if file is not None else []
    found = [_join(scope.child("cases", i), one, tasks, graders) for i, one in enumerate(cases)]
    _check_ids(scope, cases)
    if loading.problems:
        raise SuiteError(sorted(loading.problems, key=lambda one: (one.line, one.column)))
    return [one for one in found if one is not None]


def _check_ids(scope: Scope, cases: Sequence[ReferenceCase]) -> None:
    taken: dict[str, int] = {}
    for i, one in enumerate(cases):
        first = taken.setdefault(one.id, i)
        if first != i:
            line = at(scope.document, "cases", first, "id").line
            message = f"{one.id!r} is already the id of the case in line {line}"
            scope.child("cases", i, "id").error("duplicate-name", message, "give each case its own")


def _join(
    scope: Scope,
    case: ReferenceCase,
    tasks: Sequence[Task],
    graders: Mapping[str, Sequence[ProvableGrader]],
) -> JoinedCase | None:
    """Return a case with what it names; None after a mistake."""
    known = len(scope.loading.problems)
    task = _find_task(scope, case, tasks)
    grader = _find_grader(scope, case, graders[task.id]) if task and not scope.has_error else None
    script = _script_of(scope, case, task) if task and not scope.has_error else None
    if task is None or script is None or len(scope.loading.problems) > known:
        return None
    node = at(scope.document, *scope.path, "id")
    return JoinedCase(
        case=case,
        task=task,
        grader=grader,
        script=script,
        file=scope.document.file,
        line=max(node.line, 1),
        column=max(node.column, 1),
    )


def _find_task(scope: Scope, case: ReferenceCase, tasks: Sequence[Task]) -> Task | None:
    """Return the task of a case, which is named by its id."""
    found = next((one for one in tasks if one.id == case.task), None)
    if found is not None:
        return found
    ids = [one.id for one in tasks]
    named = [one.id for one in tasks if one.name == case.task]
    hint = f"write its id, {named[0]!r}" if len(named) == 1 else did_you_mean(case.task, ids)
    scope.child("task").error("reference-case", f"the suite runs no task with the id {case.task!r}", hint)
    return None


def _find_grader(
    scope: Scope, case: ReferenceCase, graders: Sequence[ProvableGrader]
) -> ProvableGrader | None:
    """Return the grader that a case names; None without one, and after a mistake."""
    if not case.grader:
        if case.after_turn is not None:
            message = "is the turn of a checkpoint, and no grader is named"
            scope.child("after_turn").error("reference-case", message, "add grader, or leave it out")
        return None
    named = [one for one in graders if one.place.name == case.grader]
    found = [one for one in named if case.after_turn in (None, one.place.after_turn)]
    of_task = [one for one in found if one.place.after_turn is None]
    if len(found) == 1 or of_task:
        return (of_task or found)[0]
    turns = ", ".join(str(one.place.after_turn) for one in named if one.place.after_turn is not None)
    if found:
        message = f"the checkpoints after the turns {turns} have a grader {case.grader!r} each"
        scope.child("grader").error("reference-case", message, "add after_turn")
    elif named:
        message = f"no checkpoint after turn {case.after_turn} has a grader {case.grader!r}"
        hint = f"write the turn of one that has: {turns}" if turns else "leave it out"
        scope.child("after_turn").error("reference-case", message, hint)
    else:
        message = f"no grader of the task {case.task!r} has the name {case.grader!r}"
        hint = did_you_mean(case.grader, {one.place.name for one in graders})
        scope.child("grader").error("reference-case", message, hint)
    return None


def _script_of(scope: Scope, case: ReferenceCase, task: Task) -> MockScript | None:
    """Return what gives the answer of a case, with a turn for each of the task; None after a mistake."""
    if not scope.keys.keys() & _ANSWER_KEYS:
        scope.error(
            "missing-key", "has no answer", "write output, or turns; an empty output is an answer, too"
        )
        return None
    short = {name: getattr(case, name) for name in _TURN_KEYS}
    block = MockBlock(**short, turns=case.turns, responder=case.responder)
    script = build_mock_script(scope, block)
    if script is None:
        return None
    turns = script.turns or ()
    for i, turn in enumerate(turns):
        if turn.error is not None:
            place = scope.child("turns", i) if case.turns is not None else scope
            message = "a turn that ends in an error has no answer to be judged"
            place.child("error").error("reference-case", message, "leave error out")
    return _fit(scope, case, task, script)


def _fit(scope: Scope, case: ReferenceCase, task: Task, script: MockScript) -> MockScript:
    """Return a script that has as many turns as its task. Past its last turn the mock would repeat the prompt."""
    turns, user = script.turns or (), task.inputs.responder
    if case.responder is not None and user is None:
        message = f"no model plays the user in the task {case.task!r}"
        scope.child("responder").error("reference-case", message, "leave responder out")
    elif case.responder is not None:
        replies = sum(step.reply is not None for step in case.responder)
        if len(turns) != 1 + replies:
            message = (
                f"the answer has {pluralize(len(turns), 'turn')}, and the user replies to {replies} of them"
            )
            scope.child("responder").error("reference-case", message, "write one turn more than replies")
        return script
    elif case.turns is None and user is None:
        turns = (*(MockTurn() for _ in task.follow_ups), *turns)
    elif user is None and len(turns) != count_turns(task):
        wanted = pluralize(count_turns(task), "prompt")
        message = f"has {pluralize(len(turns), 'turn')}, and the task {case.task!r} has {wanted}"
        scope.child("turns").error("reference-case", message, "write one turn for each prompt")
    elif user is not None and not 1 <= len(turns) <= 1 + user.max_followups:
        message = (
            f"has {pluralize(len(turns), 'turn')}, and the user replies at most {user.max_followups} times"
        )
        scope.child("turns").error(
            "reference-case", message, "write one turn, and at most one for each reply"
        )
    return make_script(task, turns)
