"""The `mock` block of a suite or task: checked and made plain."""

from __future__ import annotations

from waza.kit.decode import fields_of
from waza.kit.files import safe_join
from waza.model.mock import MockBlock, MockScript, MockTurn
from waza.suite.loading import Scope

_TURN_KEYS = frozenset(field.key for field in fields_of(MockTurn))


def build_mock_script(scope: Scope, block: MockBlock | None) -> MockScript | None:
    """Return the script of a block, or None without one; mistakes are collected."""
    if block is None:
        return None
    keys = scope.keys
    short = keys.keys() & _TURN_KEYS
    if short and "turns" in keys:
        key = min(short)
        scope.child(key).error(
            "conflicting-keys", f"{key!r} cannot be combined with 'turns'", "move it into one of the turns"
        )
    turns = tuple(block.turns or ()) if "turns" in keys else (_one_turn(block),) if short else None
    _check_turn(scope, block)
    for i, turn in enumerate(block.turns or ()):
        _check_turn(scope.child("turns", i), turn)
    _check_steps(scope, block)
    return MockScript(
        turns=turns,
        judge=block.judge,
        responder=None if block.responder is None else tuple(block.responder),
        executions=tuple(
            script
            for i, entry in enumerate(block.executions or ())
            if (script := build_mock_script(scope.child("executions", i), entry))
        ),
        without_skills=build_mock_script(scope.child("without_skills"), block.without_skills),
    )


def _one_turn(block: MockBlock) -> MockTurn:
    """Return the turn that the keys directly under `mock` are short for."""
    return MockTurn(**{name: getattr(block, name) for name in MockTurn.__struct_fields__})


def _check_turn(scope: Scope, turn: MockTurn) -> None:
    places = [("files", i, file.path) for i, file in enumerate(turn.files)]
    places += [("delete", i, name) for i, name in enumerate(turn.delete)]
    for key, i, name in places:
        if "{{" in name:
            continue  # a template: checked when it is rendered
        try:
            safe_join(scope.loading.directory, name)
        except ValueError as error:
            scope.child(key, i).error("outside-path", str(error))


def _check_steps(scope: Scope, block: MockBlock) -> None:
    for grader, steps in (block.judge or {}).items():
        for i, step in enumerate(steps):
            given = [step.passes, step.fail, step.winner, step.reply, step.error]
            place = scope.child("judge", grader, i)
            if sum(value is not None for value in given) != 1 and not place.has_error:
                message = "a judge step is one of: pass, fail, winner, reply, error"
                place.error("conflicting-keys", message)
    for i, decision in enumerate(block.responder or ()):
        chosen = [decision.reply is not None, decision.stop, decision.abstain is not None]
        place = scope.child("responder", i)
        if sum(chosen) != 1 and not place.has_error:
            place.error("conflicting-keys", "a responder step is one of: reply, stop: true, abstain")
