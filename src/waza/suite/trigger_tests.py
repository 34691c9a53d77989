"""`trigger_tests.yaml` beside a suite: prompts on which its skill should fire, and should not."""

from __future__ import annotations

import os

from waza.kit.decode import Decoder, Unknown, did_you_mean, fields_of
from waza.model.loaded import TriggerTests
from waza.problem import Problem
from waza.suite.loading import Loading
from waza.suite.read import read_document

FILE = "trigger_tests.yaml"


def trigger_tests(loading: Loading) -> TriggerTests | None:
    """Return the trigger tests beside the suite, or None where there are none."""
    path = loading.directory / FILE
    if not os.path.lexists(path):
        return None
    document = read_document(path, "trigger test")
    if isinstance(document, Problem):
        loading.problems.append(document)
        return None
    decoder = Decoder(document, _warn)
    tests = decoder.read(TriggerTests)
    loading.problems.extend(decoder.problems)
    if tests and not (tests.should_trigger_prompts or tests.should_not_trigger_prompts):
        loading.say(document, (), "has no prompt", "add should_trigger_prompts or should_not_trigger_prompts")
    loading.require(document, (), "tool_calls", "move the file away")
    return tests


def _warn(struct: type, key: str, _path: tuple[str | int, ...]) -> Unknown:
    return Unknown("warning", did_you_mean(key, (field.key for field in fields_of(struct))))
