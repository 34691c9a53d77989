"""`trigger_tests.yaml` beside a suite: prompts on which its skill should fire, and should not."""

from __future__ import annotations

import os

from waza.kit.decode import Decoder, UnknownKeyAdvice, fields_of
from waza.kit.names import did_you_mean, nearest_name
from waza.model.loaded import TriggerTests
from waza.model.skill import Target
from waza.problem import Problem
from waza.suite.loading import Loading, Scope
from waza.suite.read import read_document
from waza.suite.target import find_target, is_path

FILE = "trigger_tests.yaml"


def has_trigger_tests(loading: Loading) -> bool:
    """Return whether there are trigger tests beside the suite, measured or not."""
    return os.path.lexists(loading.directory / FILE)


def only_trigger_tests(loading: Loading) -> bool:
    """Return whether the suite names no tasks, and has trigger tests instead."""
    return not (loading.file.tasks or loading.file.tasks_from) and has_trigger_tests(loading)


def read_trigger_tests(loading: Loading) -> tuple[TriggerTests | None, Target | None]:
    """Return the trigger tests beside the suite, and the skill that they are about; None without them."""
    if not has_trigger_tests(loading):
        if loading.file.mock and loading.file.mock.triggers:
            message, hint = (
                f"there is no {FILE} beside the suite",
                "write its prompts there, or remove the key",
            )
            loading.at("mock", "triggers").error("missing-file", message, hint)
        return None, None
    document = read_document(loading.directory / FILE, "trigger test")
    if isinstance(document, Problem):
        loading.problems.append(document)
        return None, None
    decoder = Decoder(document, _advise_unknown_key)
    tests = decoder.read(TriggerTests)
    loading.problems.extend(decoder.problems)
    if tests is None:
        return None, None
    scope = Scope(loading, document)
    if not (tests.should_trigger_prompts or tests.should_not_trigger_prompts):
        scope.error(
            "missing-key", "has no prompt", "add should_trigger_prompts or should_not_trigger_prompts"
        )
    if not loading.capabilities.scripted:
        for capability in ("skills", "tool_calls"):
            scope.require(capability, "move the file away")
    elif not _is_scripted(scope, tests):
        return None, None
    _check_skill(scope, tests)
    target = None if loading.skills_off else find_target(scope.child("skill"), tests.skill.strip())
    if target and target.why_it_never_fires and tests.should_trigger_prompts:
        message = f"{target.name!r} can never be invoked: {target.why_it_never_fires}"
        scope.child("skill").warn("never-invoked", message, "remove should_trigger_prompts")
    return tests, target


def _check_skill(scope: Scope, tests: TriggerTests) -> None:
    """Refuse tests of another skill than the suite's; a path may mean any name."""
    suite = scope.loading.file.skill.strip()
    if suite and not is_path(suite) and not is_path(tests.skill) and tests.skill.strip() != suite:
        message = f"names {tests.skill.strip()!r}, but the suite tests {suite!r}"
        scope.child("skill").error("trigger-tests", message, "name the same skill in both")


def _is_scripted(scope: Scope, tests: TriggerTests) -> bool:
    """Return whether the script says on which prompts the skill is invoked; what it says must fit the prompts."""
    script = scope.loading.file.mock.triggers if scope.loading.file.mock else None
    if script is None:
        message = "not measured: no script says on which prompts the skill is invoked"
        hint = "write mock.triggers in the suite, with true or false for each prompt"
        scope.warn("not-checked", message, hint)
        return False
    prompts = [one.prompt for one in (*tests.should_trigger_prompts, *tests.should_not_trigger_prompts)]
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
    return True


def _advise_unknown_key(struct: type, key: str, _path: tuple[str | int, ...]) -> UnknownKeyAdvice:
    known = [field.key for field in fields_of(struct)]
    return UnknownKeyAdvice("error" if nearest_name(key, known) else "warning", did_you_mean(key, known))
