"""The suite of a skill or custom agent: its `eval.yaml`, and the trigger tests beside it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from waza.author.scaffold.new_files import NewFiles
from waza.author.scaffold.place import MOCK, NewExecutor, Place, schema_comment
from waza.author.scaffold.template import fill_file
from waza.registry.scalar import format_scalar
from waza.suite.trigger_tests import FILE as TRIGGER_TESTS

_MOCK_NOTE = """\
#
#   waza run {path}
#
# The executor mock plays the scripts of the tasks (mock:). So a run shows that the suite works, and nothing about
# an agent. With a real one:
#
#   waza run {path} --executor copilot-sdk"""


class NewSuite(msgspec.Struct, frozen=True, kw_only=True):
    """A suite that is to be written: `file` is its path, `target` what it tests, in the directory `target_directory`.

    `config` is further lines of its `config`. `positive` and `negative` are prompts of trigger tests; without any, or
    with an executor that does not see which skills are used, it has no such tests.
    """

    place: Place
    executor: NewExecutor
    file: Path
    kind: str
    target: str
    target_directory: Path
    description: str
    model: str = ""
    config: str = ""
    positive: Sequence[str] = ()
    negative: Sequence[str] = ()

    @property
    def directory(self) -> Path:
        """The directory of the suite."""
        return self.file.parent

    @property
    def has_triggers(self) -> bool:
        """Whether there are trigger tests, which somebody can measure."""
        return bool(self.positive) and self.executor.sees_skills


def add_suite(files: NewFiles, suite: NewSuite) -> None:
    """Add the suite file."""
    place, defaults = suite.place, suite.place.keys.defaults
    task_glob = place.keys.files.taskGlob
    values = {
        "schema": schema_comment(suite.file, place.root, "suite"),
        "kind": suite.kind,
        "name": suite.target,
        "mock_note": _MOCK_NOTE.format(path=relative(suite.file, place.root))
        if suite.executor.name == MOCK
        else "",
        "suite_name": format_scalar(f"{suite.target}-eval"),
        "description": format_scalar(suite.description),
        "target": format_scalar(suite.target),
        "executor": format_scalar(suite.executor.name),
        "executor_options": suite.executor.config,
        "model": format_scalar(suite.model or defaults.model),
        "timeout": str(defaults.timeout),
        "skill_directory": format_scalar(relative(suite.target_directory, suite.directory)),
        "config": suite.config,
        "metrics": "- {name: trigger_accuracy, threshold: 0.8}" if suite.has_triggers else "",
        "task_glob": format_scalar(task_glob),
        "mock": _trigger_script(suite) if suite.has_triggers else "",
    }
    files.add(suite.file, fill_file("suite.yaml", values))


def add_trigger_tests(files: NewFiles, suite: NewSuite) -> None:
    """Add the trigger tests of the suite, if it has any."""
    if not suite.has_triggers:
        return
    path = suite.directory / TRIGGER_TESTS
    values = {
        "schema": schema_comment(path, suite.place.root, "trigger-tests"),
        "target": format_scalar(suite.target),
        "positive": _listed(suite.positive),
        "negative": _listed(suite.negative),
    }
    files.add(path, fill_file("trigger_tests.yaml", values))


def relative(path: Path, directory: Path) -> str:
    """Return a path as a file in a directory names it, with `/`."""
    return Path(os.path.relpath(path, directory)).as_posix()


def _listed(prompts: Sequence[str]) -> str:
    return "\n".join(f"- {{prompt: {format_scalar(prompt)}, confidence: high}}" for prompt in prompts)


def _trigger_script(suite: NewSuite) -> str:
    answers = [*((one, "true") for one in suite.positive), *((one, "false") for one in suite.negative)]
    lines = "\n".join(f"    {format_scalar(prompt)}: {answer}" for prompt, answer in answers)
    return f"# On which prompts of {TRIGGER_TESTS} the mock uses the skill.\nmock:\n  triggers:\n{lines}"
