"""Labels: what people say of the answers of a run, without knowing the verdicts of its graders.

A labels file belongs to one run. Each label names the answer by its digest, so that one about an answer that has changed is
noticed. Several people may label the same answers.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

import msgspec

from waza.errors import UsageError
from waza.graders._ask_judge import EXPECTATION, read_prompt
from waza.kit.directory_lock import lock_directory
from waza.kit.files import write_atomic, write_error
from waza.kit.indented_json import indented_json
from waza.kit.moments import write_now
from waza.kit.text import list_first, pluralize
from waza.model.result import SuiteResult, TaskResult, TrialResult, Validation
from waza.model.trial import Arm
from waza.model.verdict import JUDGED, PAIRWISE
from waza.problem import display_path
from waza.results.ending import GRADING

Choice = Literal["pass", "fail", "unsure"]
CHOICES: tuple[Choice, ...] = ("pass", "fail", "unsure")
_LISTED = 5  # names in a message
_LONGEST_NAME = 100  # characters
_PROPER_NAME = f"write a name of 1 to {_LONGEST_NAME} characters"
_SEEDS = 2**32


class AnswerKey(NamedTuple):
    """Which answer of a run: its arm, the id of its task, and the number of its trial."""

    arm: Arm
    task: str
    trial: int

    def __str__(self) -> str:
        arm = "" if self.arm == "main" else " of the baseline"
        return f"{self.task}, trial {self.trial}{arm}"


class Label(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one person says of an answer, by the criterion of one grader."""

    arm: Arm = "main"
    """`main`, or `baseline` for an answer without skills."""
    task: str
    """The id of the task."""
    trial: int
    """The number of the trial, from 1."""
    grader: str
    """The name of the grader whose criterion was applied."""
    answer_sha256: str
    """The digest of the prompt and the answer that were shown."""
    label: Choice
    """`pass`, `fail` or `unsure`."""
    rater: str
    """Who says so."""
    time: str
    """When, in RFC 3339."""

    @property
    def key(self) -> AnswerKey:
        """Which answer it is about."""
        return AnswerKey(self.arm, self.task, self.trial)


class Labels(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A labels file."""

    kind: Literal["waza.labels"] = "waza.labels"
    """What the file is."""
    schemaVersion: Literal["1.0"] = "1.0"  # noqa: N815  # the spelling of all files
    """The version of its format."""
    run: str
    """The id of the run whose answers are labelled."""
    results: str
    """The results file, relative to the labels file where that is possible."""
    seeds: dict[str, int] = {}
    """By rater, the seed of the order in which the answers were shown."""
    labels: list[Label] = []
    """The labels, at most one of a rater for an answer and a grader."""


class RunAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer of a run, with the prompt that it is the answer to."""

    key: AnswerKey
    prompt: str
    output: str
    truncated: bool
    """Whether only its head and tail were kept."""

    @property
    def sha256(self) -> str:
        """The digest by which labels know it."""
        digest = hashlib.sha256()
        for text in (self.prompt, self.output):
            data = text.encode("utf-8", "surrogatepass")
            digest.update(b"%d:" % len(data) + data)
        return digest.hexdigest()


class LabelQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What a rater is asked: whether an answer meets the criterion of a grader."""

    answer: RunAnswer
    grader: str
    criterion: str
    """The instructions of the judge; empty where the results do not hold them."""
    expected: str
    """What the task expects, where the judge was given that."""


def iter_trials(result: SuiteResult) -> Iterator[tuple[AnswerKey, TrialResult]]:
    """Yield the trials of both arms that came to an answer: those that did not break before they were graded."""
    arms: list[tuple[Arm, Sequence[TaskResult]]] = [("main", result.tasks)]
    if result.baseline_outcome:
        arms.append(("baseline", result.baseline_outcome.tasks))
    for arm, tasks in arms:
        for task in tasks:
            for trial in task.runs:
                if not is_broken(trial):
                    yield AnswerKey(arm, task.test_id, trial.run_number), trial


def is_broken(trial: TrialResult) -> bool:
    """Tell whether a trial broke before it was graded, so that it has no answer to speak of."""
    return (trial.status == "error" or bool(trial.error_msg)) and not trial.error_msg.startswith(GRADING)


def read_answers(result: SuiteResult) -> dict[AnswerKey, RunAnswer]:
    """Return the answers of both arms of a run."""
    return {
        key: RunAnswer(key=key, prompt=trial.prompt, output=trial.final_output, truncated=trial.truncated)
        for key, trial in iter_trials(result)
    }


def list_questions(result: SuiteResult, graders: Sequence[str]) -> list[LabelQuestion]:
    """Return what can be asked about the answers of a run: by these graders, else by all that ask a judge about one answer.

    Raises UsageError for a grader that the results do not have, one that compares answers, and where nothing is left.
    """
    answers = read_answers(result)
    comparing: dict[str, bool] = {}  # by grader, whether it compares two answers
    found: list[LabelQuestion] = []
    for key, trial in iter_trials(result):
        for name, validation in (trial.validations or {}).items():
            comparing[name] = comparing.get(name, False) or validation.details.get("mode") == PAIRWISE
            if name in graders if graders else validation.type in JUDGED:
                found.append(_question(answers[key], name, validation))
    for name in graders:
        if name not in comparing:
            there = list_first(list(comparing), _LISTED) or "none"
            raise UsageError(f"no answer has a verdict of a grader {name!r}; there are: {there}")
        if comparing[name]:
            raise UsageError(f"{name!r} compares two answers, and a label is about one; name another grader")
    found = [one for one in found if not comparing[one.grader]]
    if not found:
        there = f"; its graders are: {list_first(list(comparing), _LISTED)}" if comparing else ""
        raise UsageError(
            f"no answer of the run was judged{there}; name a grader with --grader to label by it"
        )
    return found


def _question(answer: RunAnswer, grader: str, validation: Validation) -> LabelQuestion:
    asked = validation.details.get("prompt")
    criterion, material = read_prompt(asked) if isinstance(asked, str) else ("", {})
    return LabelQuestion(
        answer=answer, grader=grader, criterion=criterion, expected=material.get(EXPECTATION, "")
    )


def read_labels(path: Path) -> Labels:
    """Return the labels of a file. Raises UsageError if it cannot be read, or is not a labels file."""
    try:
        labels = msgspec.json.decode(path.read_bytes().removeprefix(codecs.BOM_UTF8), type=Labels)
    except OSError as error:
        raise UsageError(f"{display_path(path)} cannot be read: {error.strerror}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{display_path(path)} is not a labels file: {error}; `waza label RESULTS` writes one"
        ) from error
    seen = set[tuple[AnswerKey, str, str]]()
    for one in labels.labels:
        if not is_rater(one.rater):
            raise UsageError(f"{display_path(path)} has a label of the rater {one.rater!r}; {_PROPER_NAME}")
        if (who := (one.key, one.grader, one.rater)) in seen:
            raise UsageError(
                f"{display_path(path)} has two labels of {one.rater} for {one.key} by {one.grader}; delete one of them"
            )
        seen.add(who)
    return labels


def is_rater(name: str) -> bool:
    """Tell whether a text can be the name of a rater: printable, and not blank."""
    return bool(name.strip()) and len(name) <= _LONGEST_NAME and name.isprintable()


def find_labelled_results(path: Path, labels: Labels) -> Path:
    """Return the results file that a labels file names. Raises UsageError where it is not there."""
    found = path.parent / labels.results
    if not found.is_file():
        raise UsageError(
            f"{display_path(path)} is about {labels.run}, whose results are not at {display_path(found)}; name them "
            "with --results"
        )
    return found


class Labelling:
    """The work of one rater: questions in an order of chance, and the labels that they give."""

    def __init__(
        self,
        path: Path,
        result: SuiteResult,
        results: Path,
        questions: Sequence[LabelQuestion],
        rater: str,
        seed: int | None = None,
    ) -> None:
        """Start, or go on where the file is there already. Nothing is written before the first label.

        Raises UsageError for a labels file of another run, another seed than before, or no proper name.
        """
        if not is_rater(rater):
            raise UsageError(f"--rater is {rater!r}; {_PROPER_NAME}")
        self.path, self.rater = path, rater
        self._new = Labels(run=result.eval_id, results=_relative(results, path.parent))
        labels = self._read()
        known = labels.seeds.get(rater)
        if seed is not None and known not in (None, seed):
            raise UsageError(
                f"{rater} began with --seed {known}; leave out --seed, or write to another file with -o"
            )
        chosen = known if known is not None else seed
        self.seed: int = secrets.randbelow(_SEEDS) if chosen is None else chosen
        self.questions = _shuffled(questions, self.seed)
        self._own = self._find_own(labels)
        digests = {one.answer.key: one.answer.sha256 for one in questions}
        self.changed = [
            one
            for one in labels.labels
            if one.rater == rater and digests.get(one.key, one.answer_sha256) != one.answer_sha256
        ]
        """Labels of the rater about answers that have changed since; these are asked again."""

    @property
    def done(self) -> int:
        """How many questions have a label of the rater."""
        return sum(self.label_of(number) is not None for number in range(len(self.questions)))

    def first_open(self, after: int = -1) -> int | None:
        """Return the first question without a label of the rater, behind one if there is one; None: all have one."""
        count = len(self.questions)
        order = [(after + 1 + step) % count for step in range(count)]
        return next((number for number in order if self.label_of(number) is None), None)

    def label_of(self, number: int) -> Choice | None:
        """Return the label that the rater gave a question, by its place in the order."""
        question = self.questions[number]
        found = self._own.get((question.answer.key, question.grader))
        return found.label if found and found.answer_sha256 == question.answer.sha256 else None

    def set(self, number: int, choice: Choice) -> None:
        """Keep a label, in the place of an earlier one of the rater. Raises WazaError if it cannot be written."""
        question = self.questions[number]
        key = question.answer.key
        label = Label(
            arm=key.arm,
            task=key.task,
            trial=key.trial,
            grader=question.grader,
            answer_sha256=question.answer.sha256,
            label=choice,
            rater=self.rater,
            time=write_now(),
        )
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_error(self.path, error) from error
        with lock_directory(self.path.parent):  # another rater may write to the same file
            labels = self._read()
            others = [
                one
                for one in labels.labels
                if (one.key, one.grader, one.rater) != (key, label.grader, self.rater)
            ]
            labels = msgspec.structs.replace(
                labels, seeds={**labels.seeds, self.rater: self.seed}, labels=[*others, label]
            )
            write_atomic(self.path, indented_json(labels))
        self._own = self._find_own(labels)

    def _read(self) -> Labels:
        if not self.path.exists():
            return self._new
        labels = read_labels(self.path)
        if labels.run != self._new.run:
            raise UsageError(
                f"{display_path(self.path)} has labels of {labels.run}, and these results are of {self._new.run}; write "
                "to another file with -o"
            )
        return labels

    def _find_own(self, labels: Labels) -> dict[tuple[AnswerKey, str], Label]:
        return {(one.key, one.grader): one for one in labels.labels if one.rater == self.rater}

    def describe(self) -> str:
        """Return how far the rater is, in words."""
        return f"{self.done} of {pluralize(len(self.questions), 'question')} labelled by {self.rater}"


def _shuffled(questions: Sequence[LabelQuestion], seed: int) -> list[LabelQuestion]:
    """Return questions in an order of chance, those about one answer one after the other."""
    by_answer: dict[AnswerKey, list[LabelQuestion]] = {}
    for one in questions:
        by_answer.setdefault(one.answer.key, []).append(one)
    keys = sorted(by_answer)
    Random(seed).shuffle(keys)  # noqa: S311  an order, not a secret
    return [one for key in keys for one in by_answer[key]]


def _relative(path: Path, directory: Path) -> str:
    try:
        return Path(os.path.relpath(path, directory)).as_posix()
    except ValueError:  # on another drive of Windows
        return str(path.resolve())
