"""`trigger_tests.yaml` beside a suite: prompts on which its skill should fire, and should not."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import msgspec

from waza.kit import yaml
from waza.kit.decode import Decoder, Document, UnknownKeyAdvice, fields_of
from waza.kit.names import did_you_mean, nearest_name
from waza.model.loaded import TriggerTests
from waza.model.mock import NO_SKILL, scripted_skills
from waza.model.skill import Target
from waza.problem import Problem
from waza.suite.loading import Loading, Scope
from waza.suite.read import child, read_document
from waza.suite.target import find_target, is_path

FILE = "trigger_tests.yaml"


class FoundTriggerTests(msgspec.Struct, frozen=True, kw_only=True):
    """Trigger tests with the skill that they are about, None where it was not found, and its neighbours."""

    tests: TriggerTests
    target: Target | None = None
    neighbours: tuple[Target, ...] = ()


def has_trigger_tests(loading: Loading) -> bool:
    """Return whether there are trigger tests beside the suite, measured or not."""
    return os.path.lexists(loading.directory / FILE)


def only_trigger_tests(loading: Loading) -> bool:
    """Return whether the suite names no tasks, and has trigger tests instead."""
    return not (loading.file.tasks or loading.file.tasks_from) and has_trigger_tests(loading)


def lists_neighbours(loading: Loading) -> bool:
    """Return whether the trigger tests beside the suite list neighbours, measured or not."""
    document = read_document(loading.directory / FILE, "trigger test") if has_trigger_tests(loading) else None
    listed = child(document.root, "neighbours") if isinstance(document, Document) else None
    return isinstance(listed, yaml.Sequence) and bool(listed.items)


def read_trigger_tests(loading: Loading) -> FoundTriggerTests | None:
    """Return the trigger tests beside the suite; None without them, or where nothing can be measured."""
    if has_trigger_tests(loading):
        return _read(loading)
    if loading.file.mock and loading.file.mock.triggers:
        message, hint = f"there is no {FILE} beside the suite", "write its prompts there, or remove the key"
        loading.at("mock", "triggers").error("missing-file", message, hint)
    return None


def _read(loading: Loading) -> FoundTriggerTests | None:
    document = read_document(loading.directory / FILE, "trigger test")
    if isinstance(document, Problem):
        loading.problems.append(document)
        return None
    decoder = Decoder(document, _advise_unknown_key)
    tests = decoder.read(TriggerTests)
    loading.problems.extend(decoder.problems)
    if tests is None:
        return None
    scope = Scope(loading, document)
    if not tests.prompts:
        scope.error(
            "missing-key", "has no prompt", "add should_trigger_prompts or should_not_trigger_prompts"
        )
    if not loading.capabilities.scripted:
        for capability in ("skills", "tool_calls"):
            scope.require(capability, "move the file away")
    return _check(scope, tests)


def _check(scope: Scope, tests: TriggerTests) -> FoundTriggerTests | None:
    """Find the skills of the tests, and check what is said of them. None if no script says what is invoked."""
    scripted = scope.loading.capabilities.scripted
    measured = not scripted or _has_script(scope)
    target = _find_tested(scope, tests) if measured else None
    tested = target.name if target else tests.skill.strip()
    neighbours = tuple(_find_neighbours(scope, tests, tested))
    names = [tested, *(one.name for one in neighbours)]
    if len(neighbours) == len(tests.neighbours) and (target or not is_path(tested)):
        _check_expectations(scope, tests, names)
        if scripted:
            _check_script_names(scope, tests, names)
    if not measured:
        return None
    if scripted:
        _check_script_prompts(scope, tests)
    return FoundTriggerTests(tests=tests, target=target, neighbours=neighbours)


def _find_tested(scope: Scope, tests: TriggerTests) -> Target | None:
    """Return the skill that the tests are about, if skills are not switched off. Mistakes are collected."""
    _check_skill(scope, tests)
    target = None if scope.loading.skills_off else find_target(scope.child("skill"), tests.skill.strip())
    if target and target.why_it_never_fires and tests.should_trigger_prompts:
        message = f"{target.name!r} can never be invoked: {target.why_it_never_fires}"
        scope.child("skill").warn("never-invoked", message, "remove should_trigger_prompts")
    return target


def _find_neighbours(scope: Scope, tests: TriggerTests, tested: str) -> Iterator[Target]:
    """Yield the skills that are offered beside the tested one; each has another name."""
    known = {tested, NO_SKILL}
    if tests.neighbours and tested == NO_SKILL:
        scope.child("skill").error(
            "trigger-tests", f"{NO_SKILL!r} means no skill beside neighbours", "rename it"
        )
    for i, wanted in enumerate(tests.neighbours):
        place = scope.child("neighbours", i)
        found = find_target(place, wanted.strip(), role="offered")
        if found is None:
            continue
        if found.kind == "agent":
            message = f"{found.name!r} can never be invoked: {found.why_it_never_fires}"
            place.error("trigger-tests", message, "name a skill")
        elif found.name in known:
            why = "means no skill" if found.name == NO_SKILL else "is the name of more than one skill here"
            place.error("trigger-tests", f"{found.name!r} {why}", "remove it, or rename the skill")
        else:
            if not found.model_invocable:
                message = f"{found.name!r} can never be invoked: {found.why_it_never_fires}"
                place.warn("never-invoked", message, "remove it")
            known.add(found.name)
            yield found


def _check_expectations(scope: Scope, tests: TriggerTests, skills: Sequence[str]) -> None:
    """Refuse an `expect` that names no skill of the tests, or another one than the list of its prompt says."""
    for key, should in (("should_trigger_prompts", True), ("should_not_trigger_prompts", False)):
        for i, prompt in enumerate(getattr(tests, key)):
            place, wanted = scope.child(key, i, "expect"), prompt.expect.strip()
            if not wanted:
                continue
            if not tests.neighbours:
                place.error(
                    "trigger-tests", "has no effect without neighbours", "list them, or remove the key"
                )
            elif wanted not in (*skills, NO_SKILL):
                message = f"{wanted!r} is neither the tested skill nor one of its neighbours"
                place.error("trigger-tests", message, did_you_mean(wanted, (*skills, NO_SKILL)))
            elif (wanted == skills[0]) != should:
                other = "should_not_trigger_prompts" if should else "should_trigger_prompts"
                place.error("trigger-tests", f"{wanted!r} does not fit {key}", f"move the prompt to {other}")


def _check_skill(scope: Scope, tests: TriggerTests) -> None:
    """Refuse tests of another skill than the suite's; a path may mean any name."""
    suite = scope.loading.file.skill.strip()
    if suite and not is_path(suite) and not is_path(tests.skill) and tests.skill.strip() != suite:
        message = f"names {tests.skill.strip()!r}, but the suite tests {suite!r}"
        scope.child("skill").error("trigger-tests", message, "name the same skill in both")


def _script(scope: Scope) -> dict[str, bool | str | list[str]] | None:
    """Return what the script says of the prompts; None where it says nothing."""
    return scope.loading.file.mock.triggers if scope.loading.file.mock else None


def _has_script(scope: Scope) -> bool:
    """Return whether a script says on which prompts the skill is invoked."""
    if _script(scope) is not None:
        return True
    message = "not measured: no script says on which prompts the skill is invoked"
    hint = "write mock.triggers in the suite, with true or false for each prompt"
    scope.warn("not-checked", message, hint)
    return False


def _check_script_prompts(scope: Scope, tests: TriggerTests) -> None:
    """Refuse a script that does not say of each prompt what happens, and of nothing else."""
    script = _script(scope) or {}
    prompts = [one.prompt for one, _ in tests.prompts]
    for prompt in (prompt for prompt in script if prompt not in prompts):
        meant = nearest_name(prompt, prompts)
        hint = f"did you mean {meant!r}?" if meant else f"prompts are written as in {FILE}"
        scope.loading.at("mock", "triggers", prompt).error(
            "trigger-tests", f"is not a prompt of {FILE}", hint
        )
    left = [prompt for prompt in prompts if prompt not in script]
    if left:
        message = f"says nothing of {len(left)} of {len(prompts)} prompts, such as {left[0]!r}"
        scope.loading.at("mock", "triggers").error(
            "trigger-tests", message, "add each prompt with true or false"
        )


def _check_script_names(scope: Scope, tests: TriggerTests, skills: Sequence[str]) -> None:
    """Refuse names in a script that no skill of the tests has; the first of the skills is the tested one."""
    for prompt, invoked in (_script(scope) or {}).items():
        for name in scripted_skills(invoked, skills[0]):
            if name not in skills:
                message = f"{name!r} is neither the tested skill nor one of its neighbours"
                hint = did_you_mean(name, (*skills, NO_SKILL)) if tests.neighbours else "write true or false"
                scope.loading.at("mock", "triggers", prompt).error("trigger-tests", message, hint)


def _advise_unknown_key(struct: type, key: str, _path: tuple[str | int, ...]) -> UnknownKeyAdvice:
    known = [field.key for field in fields_of(struct)]
    return UnknownKeyAdvice("error" if nearest_name(key, known) else "warning", did_you_mean(key, known))
