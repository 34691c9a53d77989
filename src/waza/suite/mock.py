"""The `mock` block of a suite or task: checked and made plain."""

from __future__ import annotations

from collections.abc import Iterator

from waza.kit import yaml
from waza.kit.decode import Document, fields_of
from waza.kit.files import safe_join
from waza.model.mock import MockBlock, MockScript, MockTurn
from waza.suite.loading import Loading
from waza.suite.read import child

_TURN_KEYS = frozenset(field.key for field in fields_of(MockTurn))


def mock_script(
    loading: Loading, document: Document, block: MockBlock | None, path: tuple[str | int, ...] = ("mock",)
) -> MockScript | None:
    """Return the script of a block, or None without one; mistakes are collected."""
    if block is None:
        return None
    node = child(document.root, *path)
    keys = set(node.entries) if isinstance(node, yaml.Mapping) else set()
    short = keys & _TURN_KEYS
    if short and "turns" in keys:
        key = min(short)
        loading.say(document, (*path, key), f"{key!r} stands beside 'turns'", "move it into one of the turns")
    turns = tuple(block.turns or ()) if "turns" in keys else (_one_turn(block),) if short else None
    for where, turn in _turns(block, path):
        _check_turn(loading, document, turn, where)
    _check_steps(loading, document, block, path)
    return MockScript(
        turns=turns,
        judge=block.judge,
        responder=None if block.responder is None else tuple(block.responder),
        executions=tuple(
            script
            for i, entry in enumerate(block.executions or ())
            if (script := mock_script(loading, document, entry, (*path, "executions", i)))
        ),
    )


def _one_turn(block: MockBlock) -> MockTurn:
    """Return the turn that the keys directly under `mock` are short for."""
    return MockTurn(**{name: getattr(block, name) for name in MockTurn.__struct_fields__})


def _turns(block: MockBlock, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], MockTurn]]:
    yield path, block
    for i, turn in enumerate(block.turns or ()):
        yield (*path, "turns", i), turn


def _check_turn(loading: Loading, document: Document, turn: MockTurn, path: tuple[str | int, ...]) -> None:
    places = [("files", i, file.path) for i, file in enumerate(turn.files)]
    places += [("delete", i, name) for i, name in enumerate(turn.delete)]
    for key, i, name in places:
        if "{{" in name:
            continue  # a template: checked when it is rendered
        try:
            safe_join(loading.directory, name)
        except ValueError as error:
            loading.say(document, (*path, key, i), str(error))


def _check_steps(loading: Loading, document: Document, block: MockBlock, path: tuple[str | int, ...]) -> None:
    for grader, steps in (block.judge or {}).items():
        for i, step in enumerate(steps):
            given = [step.passes, step.fail, step.winner, step.reply, step.error]
            whole = not document.faulty(*path, "judge", grader, i)
            if whole and sum(value is not None for value in given) != 1:
                message = "a judge step is one of: pass, fail, winner, reply, error"
                loading.say(document, (*path, "judge", grader, i), message)
    for i, decision in enumerate(block.responder or ()):
        chosen = [decision.reply is not None, decision.stop, decision.abstain is not None]
        if sum(chosen) != 1 and not document.faulty(*path, "responder", i):
            loading.say(
                document, (*path, "responder", i), "a responder step is one of: reply, stop: true, abstain"
            )
