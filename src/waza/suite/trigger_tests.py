"""`trigger_tests.yaml` beside a suite: prompts on which its skill should fire, and should not."""

from __future__ import annotations

import os

from waza.kit.decode import Decoder, Document, UnknownKeyAdvice, did_you_mean, fields_of, nearest
from waza.model.loaded import TriggerTests
from waza.model.skill import Target
from waza.problem import Problem
from waza.suite.loading import Loading
from waza.suite.read import read_document
from waza.suite.target import names_a_file, sought

FILE = "trigger_tests.yaml"


def has_trigger_tests(loading: Loading) -> bool:
    """Tell whether there are trigger tests beside the suite, measured or not."""
    return os.path.lexists(loading.directory / FILE)


def trigger_tests(loading: Loading) -> tuple[TriggerTests | None, Target | None]:
    """Return the trigger tests beside the suite, and the skill that they are about; None where there are none."""
    if not has_trigger_tests(loading):
        if loading.file.mock and loading.file.mock.triggers:
            message, hint = (
                f"there is no {FILE} beside the suite",
                "write its prompts there, or remove the key",
            )
            loading.say(loading.document, ("mock", "triggers"), message, hint)
        return None, None
    document = read_document(loading.directory / FILE, "trigger test")
    if isinstance(document, Problem):
        loading.problems.append(document)
        return None, None
    decoder = Decoder(document, _warn)
    tests = decoder.read(TriggerTests)
    loading.problems.extend(decoder.problems)
    if tests is None:
        return None, None
    if not (tests.should_trigger_prompts or tests.should_not_trigger_prompts):
        loading.say(document, (), "has no prompt", "add should_trigger_prompts or should_not_trigger_prompts")
    if not loading.capabilities.scripted:
        for capability in ("skills", "tool_calls"):
            loading.require(document, (), capability, "move the file away")
    elif not _is_scripted(loading, document, tests):
        return None, None
    _check_skill(loading, document, tests)
    target = None if loading.skills_off else sought(loading, document, ("skill",), tests.skill.strip())
    if target and target.why_it_never_fires and tests.should_trigger_prompts:
        message = f"{target.name!r} can never be invoked: {target.why_it_never_fires}"
        loading.say(document, ("skill",), message, "remove should_trigger_prompts", warning=True)
    return tests, target


def _check_skill(loading: Loading, document: Document, tests: TriggerTests) -> None:
    """Refuse tests of another skill than the suite's; a path may stand for any name."""
    suite = loading.file.skill.strip()
    if suite and not names_a_file(suite) and not names_a_file(tests.skill) and tests.skill.strip() != suite:
        message = f"names {tests.skill.strip()!r}, but the suite tests {suite!r}"
        loading.say(document, ("skill",), message, "name the same skill in both")


def _is_scripted(loading: Loading, document: Document, tests: TriggerTests) -> bool:
    """Tell whether the script says on which prompts the skill is invoked; what it says must fit the prompts."""
    script = loading.file.mock.triggers if loading.file.mock else None
    if script is None:
        message = "not measured: no script says on which prompts the skill is invoked"
        hint = "write mock.triggers in the suite, with true or false for each prompt"
        loading.say(document, (), message, hint, warning=True)
        return False
    prompts = [one.prompt for one in (*tests.should_trigger_prompts, *tests.should_not_trigger_prompts)]
    for prompt in (prompt for prompt in script if prompt not in prompts):
        meant = nearest(prompt, prompts)
        hint = f"did you mean {meant!r}?" if meant else f"prompts are written as in {FILE}"
        loading.say(loading.document, ("mock", "triggers", prompt), f"is no prompt of {FILE}", hint)
    left = [prompt for prompt in prompts if prompt not in script]
    if left:
        message = f"says nothing of {len(left)} of {len(prompts)} prompts, such as {left[0]!r}"
        loading.say(loading.document, ("mock", "triggers"), message, "add each prompt with true or false")
    return True


def _warn(struct: type, key: str, _path: tuple[str | int, ...]) -> UnknownKeyAdvice:
    known = [field.key for field in fields_of(struct)]
    return UnknownKeyAdvice("error" if nearest(key, known) else "warning", did_you_mean(key, known))
