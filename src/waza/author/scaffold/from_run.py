"""`waza new task from-run`: a trial that failed becomes a task that fails in the same way until the agent is better."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec

from waza.author.one_run import finished_run
from waza.author.scaffold.names import file_stem
from waza.author.scaffold.observed import as_template, as_templates, script_turns
from waza.author.scaffold.place import MOCK, Place, find_place
from waza.author.scaffold.task_file import as_task_file, is_task_of
from waza.engine.run import RunOptions
from waza.errors import SuiteError, UsageError
from waza.graders.base import requires_judge
from waza.kit import yaml
from waza.kit.files import read_rooted
from waza.kit.names import did_you_mean, unused_name
from waza.kit.template import fill
from waza.kit.unsafe_text import escape_unsafe
from waza.model.loaded import Project
from waza.model.mock import MockScript
from waza.model.result import SuiteResult, TaskResult, TrialResult, Validation
from waza.model.task import Task
from waza.problem import display_path
from waza.report.conversation import conversation_of
from waza.report.words import one_line
from waza.results.ending import BAD
from waza.suite.load import examine, load
from waza.suite.loading import RUN_VARIABLES, Loading, LoadOptions, TaskSource

TAG = "regression"
_TAKEN_OVER = (
    *(
        "timeout_seconds",
        "first_event_timeout_seconds",
        "context_dir",
        "skill_directories",
        "instruction_files",
    ),
    *("command_mocks", "mcp_mocks", "expected_outcome", "fixtures"),
)
"""Keys of a task that its regression has as well."""
_MOST_CRITERIA = 100
_MOST_INLINE = 64 * 1024  # bytes of a fixture that is written into a task


class FailedTrial(msgspec.Struct, frozen=True, kw_only=True):
    """A trial that did not pass: of which task, in which run."""

    run: str
    head: SuiteResult
    task: TaskResult
    trial: TrialResult

    @property
    def failures(self) -> dict[str, Validation]:
        """The verdicts that did not pass, by the names of their graders, those of checkpoints included."""
        verdicts = [self.trial.validations or {}, *(point.validations for point in self.trial.checkpoints)]
        return {
            verdict.identifier or name: verdict
            for found in verdicts
            for name, verdict in found.items()
            if not verdict.passed
        }


class Regression(msgspec.Struct, frozen=True, kw_only=True):
    """The task that was made: its id, file and text, the suite that it belongs to, if any, and the place of both.

    `left_out` names the graders of the trial that passed, and that the task does not have. `earlier` is a task file of the
    suite that was made of the same trial.
    """

    id: str
    file: Path
    text: str
    suite: Path | None
    place: Place
    left_out: tuple[str, ...]
    earlier: Path | None


def choose_trial(run: str, head: SuiteResult, task: TaskResult, number: int | None) -> FailedTrial:
    """Return a trial of a task that failed: that of a number, else the first one. Raises UsageError without one."""
    trials = [one for one in task.runs if number in (None, one.run_number)]
    if not trials:
        which = f"no trial {number}" if number else "no trial"
        raise UsageError(f"{task.test_id!r}: {which} of it is in {run}")
    found = [FailedTrial(run=run, head=head, task=task, trial=one) for one in trials]
    failed = next((one for one in found if one.trial.status == "failed" and one.failures), None)
    if failed is not None:
        return failed
    if any(one.status in BAD for one in trials):
        why = one_line(next(one.error_msg for one in trials if one.status in BAD), 200)
        raise UsageError(f"{task.test_id!r} broke without a verdict ({why}), so no grader would fail again")
    raise UsageError(
        f"{task.test_id!r} passed in {run}; a regression is made of a failure. Of an answer: waza new task from-prompt"
    )


def make_regression(failed: FailedTrial, suite: Path, output: Path | None) -> Regression:
    """Return the regression task of a trial, as its suite now is. Raises UsageError and SuiteError for what is missing."""
    examined, loading = examine(suite, LoadOptions())
    task = next((one for one in examined.tasks if one.id == failed.task.test_id), None)
    if task is None:
        mistakes = [one for one in loading.problems if one.severity == "error"]
        if mistakes:
            raise SuiteError(mistakes)
        known = did_you_mean(failed.task.test_id, [one.id for one in examined.tasks])
        raise UsageError(f"{display_path(suite)} has no task {failed.task.test_id!r} any more; {known}")
    source = next((one for one in loading.sources if task in one.tasks), None)
    place = find_place(suite.parent)
    name = unused_name(f"{failed.task.test_id}-{TAG}", loading.ids)
    file = output or _choose_file(name, source, suite)
    belongs = is_task_of(file, loading)
    writer = _Writer(failed, task, source, loading, inside=belongs)
    return Regression(
        id=name,
        file=file,
        text=as_task_file(writer.keys(name), file, place, _explain(failed)),
        suite=suite if belongs else None,
        place=place,
        left_out=tuple(writer.left_out()),
        earlier=next((one.path for one in loading.sources if _is_made_of(one.path, failed)), None),
    )


def _is_made_of(file: Path, failed: FailedTrial) -> bool:
    """Return whether the comment of a task file says that it was made of a trial."""
    made = "".join(f"# {line}\n" for line in _escaped(_origin(failed)))
    return made.partition("of trial")[2] in file.read_text(encoding="utf-8", errors="replace")


async def fails_on_mock(task: str, suite: Path, project: Project) -> bool:
    """Return whether a task that was written fails where the mock plays what was seen. Raises SuiteError, RunError."""
    loaded = load(suite, LoadOptions(executor=MOCK, tasks=(task,), trials=1))
    alone = msgspec.structs.replace(loaded, trigger_tests=None, trigger_target=None)
    async with finished_run(alone, RunOptions(project=project, save=False), lambda _: None) as done:
        return all(one.status == "failed" for one in done.outcome.tasks())


def _choose_file(name: str, source: TaskSource | None, suite: Path) -> Path:
    """Return a new file beside that of the task."""
    if source is None:
        raise UsageError(
            f"the tasks of {display_path(suite)} are rows of a dataset, so it takes no task files; name a task file of "
            "another suite with --output"
        )
    stem, directory = file_stem(name), source.path.parent
    suffix = "".join(source.path.suffixes)
    taken = {path.name.removesuffix(suffix) for path in directory.iterdir()}
    return directory / f"{unused_name(stem, taken)}{suffix}"


class _Writer:
    """Makes the keys of a regression task. `inside`: it is in the suite, whose graders it has anyway."""

    def __init__(
        self, failed: FailedTrial, task: Task, source: TaskSource | None, loading: Loading, *, inside: bool
    ) -> None:
        self.failed, self.task, self.source, self.loading, self.inside = failed, task, source, loading, inside
        root = source.document.root if source else None
        plain: Any = yaml.to_plain(root) if isinstance(root, yaml.Mapping) else {}
        self.raw: dict[str, Any] = plain
        # What only a run knows stays a reference.
        self.variables = {
            **{name: f"{{{{.{name}}}}}" for name in RUN_VARIABLES},
            **{f"Vars.{key}": value for key, value in task.variables.items()},
        }

    def keys(self, name: str) -> dict[str, Any]:
        """Return the keys of the task file."""
        failed, kept = self.failed, {key: self.raw[key] for key in _TAKEN_OVER if key in self.raw}
        found: dict[str, Any] = {
            "id": name,
            "name": f"{failed.task.display_name} (regression)",
            "tags": list(dict.fromkeys([TAG, *self.task.tags])),
            **(kept if self.inside else {key: value for key, value in kept.items() if key != "fixtures"}),
            "inputs": self._inputs(),
        }
        if self._of_expected():
            found["expected"] = self._filled(self.raw.get("expected", {}))
        if graders := list(self._graders()):
            found["graders"] = graders
        if points := self._checkpoints():
            found["checkpoints"] = points
        found["mock"] = self._script()
        return found

    def left_out(self) -> Iterator[str]:
        """Yield the names of graders that passed, and that the regression does not have."""
        of_suite = {entry.name for entry in self.loading.file.graders} if self.inside else set()
        own = {built.spec.name for built in self.task.graders if not built.spec.implicit}
        for key, verdict in (self.failed.trial.validations or {}).items():
            name = verdict.identifier or key
            kept = name in of_suite or (name not in own and self._of_expected())
            if verdict.passed and not kept:
                yield name

    def _inputs(self) -> dict[str, Any]:
        written = self.raw.get("inputs") or {}
        follow_ups = [] if self.task.inputs.responder else self._prompts()[1:]
        skipped = ("prompt", "prompt_file", "follow_up_prompts", "files")
        inputs = {
            "prompt": self.failed.trial.prompt or self.task.prompt,
            **({"follow_up_prompts": follow_ups} if follow_ups else {}),
            **{key: value for key, value in written.items() if key not in skipped},
        }
        files = written.get("files") if self.inside else list(self._inline_files())
        return {**inputs, **({"files": files} if files else {})}

    def _inline_files(self) -> Iterator[dict[str, str]]:
        """Yield the files of the task with their contents, since another suite has not these fixtures."""
        for file in self.task.inputs.files:
            content = file.content
            if content is None:
                try:
                    data = read_rooted(self.task.fixtures, file.path)
                    content = data.decode() if len(data) <= _MOST_INLINE else None
                except (
                    OSError,
                    ValueError,
                ):  # also of a path or a link that leads out, and of what is not UTF-8
                    content = None
            if content is None:
                raise UsageError(
                    f"the fixture {file.path!r} cannot be written into a task; leave --output out, or copy it to the "
                    "fixtures of the other suite and name a file of its tasks"
                )
            yield {"path": file.path, "content": content}

    def _prompts(self) -> list[str]:
        turns = conversation_of(self.failed.trial).turns
        return [turn.prompt for turn in turns if turn.prompt is not None] or [self.failed.trial.prompt]

    def _of_expected(self) -> bool:
        """Return whether a check of `expected` failed."""
        names = {built.spec.name for built in self.task.all_graders}
        return any(name.startswith("_") and name not in names for name in self.failed.failures)

    def _graders(self) -> Iterator[dict[str, Any]]:
        """Yield the graders that failed, but for those that the suite gives to the task anyway."""
        of_suite = {entry.name for entry in self.loading.file.graders}
        overridden = {
            entry.name: entry.override
            for entry in (self.source.file.graders if self.source else ())
            if entry.override
        }
        for built in self.task.graders:
            spec = built.spec
            if spec.name not in self.failed.failures or spec.implicit:
                continue
            inherited = spec.name in of_suite and spec.name not in overridden
            if inherited and self.inside:
                continue
            written: dict[str, Any] = {
                "type": spec.type,
                "name": spec.name,
                "config": spec.config if self.inside else as_templates(self._filled(spec.config)),
            }
            if spec.weight != 1:
                written["weight"] = spec.weight
            if self.inside and spec.name in overridden:
                written["override"] = True
            yield written

    def _checkpoints(self) -> list[Any]:
        failed = {
            point.after_turn
            for point in self.failed.trial.checkpoints
            if any(not verdict.passed for verdict in point.validations.values())
        }
        return [one for one in self.raw.get("checkpoints") or () if one.get("after_turn") in failed]

    def _script(self) -> dict[str, Any]:
        """Return what was seen as a script, with what the judges and the responder answered."""
        turns = script_turns(self.failed.trial, self._scripted_files())
        script: dict[str, Any] = turns[0] if len(turns) == 1 else {"turns": turns}
        if judges := self._judges():
            script["judge"] = judges
        if self.task.inputs.responder and self.failed.trial.responder:
            script["responder"] = list(self._replies())
        return script

    def _scripted_files(self) -> list[dict[str, Any]]:
        """Return what the script of the task changes in the workspace, by turn, where the run played that script."""
        script = self.task.mock
        if self.failed.head.config.engine_type != "mock" or script is None or not script.acts:
            return []
        trial, attempts = self.failed.trial, self.loading.file.config.max_attempts
        played: MockScript = script.execution((trial.run_number - 1) * attempts + trial.attempts - 1)
        return [
            self._filled(
                {
                    **(
                        {"files": [{"path": one.path, "content": one.content} for one in turn.files]}
                        if turn.files
                        else {}
                    ),
                    **({"delete": turn.delete} if turn.delete else {}),
                }
            )
            for turn in played.turns or ()
        ]

    def _judges(self) -> dict[str, list[dict[str, str]]]:
        verdicts = {
            verdict.identifier or name: verdict
            for found in (
                *(point.validations for point in self.failed.trial.checkpoints),
                self.failed.trial.validations or {},
            )
            for name, verdict in found.items()
        }
        asked = [built.spec.name for built in self.task.all_graders if requires_judge(built)]
        return {name: _steps(verdicts[name]) for name in asked if name in verdicts}

    def _replies(self) -> Iterator[dict[str, Any]]:
        record = self.failed.trial.responder
        for prompt in self._prompts()[1:]:
            yield {"reply": as_template(prompt)}
        if record and record.outcome == "stopped":
            yield {"stop": True}
        elif record and record.outcome == "abstained":
            yield {"abstain": record.reason or "it could not say"}

    def _filled(self, value: Any) -> Any:
        return fill(value, self.variables)


def _steps(verdict: Validation) -> list[dict[str, str]]:
    """Return calls of a judge that come to a verdict, with its score: the share of criteria that passed."""
    why = as_template(verdict.feedback or "no reason was given")
    if verdict.passed or "passes" not in verdict.details:
        return [{"pass" if verdict.passed else "fail": why}]
    share = Fraction(verdict.score).limit_denominator(_MOST_CRITERIA)
    praise = as_template(str(verdict.details["passes"]) or "no reason was given")
    return [{"pass": praise}] * share.numerator + [{"fail": why}] * (share.denominator - share.numerator)


def _explain(failed: FailedTrial) -> Sequence[str]:
    lines = [
        *_origin(failed),
        *(f"  {name}: {one_line(verdict.feedback, 200)}" for name, verdict in failed.failures.items()),
        "`mock` is what was seen: on the mock this task fails as it did then. An agent has to do better.",
    ]
    return _escaped(lines)


def _origin(failed: FailedTrial) -> list[str]:
    """Return the lines of the comment that say of which trial a task was made."""
    config = failed.head.config
    who = f"{config.engine_type}{f' ({config.model_id})' if config.model_id else ''}"
    day = datetime.now(UTC).date().isoformat()
    return [
        f"Made by `waza new task from-run` on {day} of trial {failed.trial.run_number} of {failed.task.test_id!r}",
        f"in {failed.run}, by {who}. These did not pass:",
    ]


def _escaped(lines: Sequence[str]) -> list[str]:
    return [escape_unsafe(line).replace("\n", " ") for line in lines]
