"""What a calibration asks: which judges about which answers, and how much that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from waza.author.assure.ask_again import AnswerToAsk, read_reply
from waza.author.assure.calibration import UnusedLabel
from waza.author.assure.labels import AnswerKey, Label, Labels, iter_trials, read_answers
from waza.author.tokens.count import TokenCounter, choose_counter
from waza.errors import UsageError
from waza.graders.base import asks_judge
from waza.graders.prompt import Prompt
from waza.kit.text import list_first
from waza.model.loaded import Suite
from waza.model.result import SuiteResult, TrialResult
from waza.model.verdict import BuiltGrader
from waza.problem import display_path

_LISTED = 5  # names in a message

Judges = Mapping[str, Mapping[str, BuiltGrader]]
"""The graders that ask a judge, by the ids of their tasks and their names."""


class CalibrationPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be asked."""

    answers: list[AnswerToAsk]
    labels: list[Label]
    """The labels that count."""
    left_out: list[UnusedLabel]
    pairwise: frozenset[tuple[AnswerKey, str]]
    """Which answers are compared with those of the baseline, by which graders."""
    questions: int
    """How many questions one round has; comparisons take two each."""
    tokens: int
    """What one round of questions has, in tokens."""
    estimated: bool
    """Whether tokens are estimated, and not counted."""


def make_plan(
    suite: Suite, recorded: SuiteResult, labels: Labels | None, graders: Sequence[str]
) -> CalibrationPlan:
    """Choose what to ask: about the labelled answers; without labels about all. Comparisons with the baseline need no labels.

    Raises UsageError for a grader that is no judge of the suite, and where nothing is left to ask.
    """
    judges = _choose_judges(suite, graders)
    trials = dict(iter_trials(recorded))
    used, left_out = _sort_labels(labels, recorded, judges, graders)
    compared = {
        (key, name)
        for key in trials
        for name in judges.get(key.task, {})
        if is_pairwise(judges[key.task][name]) and _has_baseline(key, trials)
    }
    asked = compared | {(one.key, one.grader) for one in used}
    if labels is None:
        asked |= {
            (key, name)
            for key in trials
            for name, built in judges.get(key.task, {}).items()
            if not is_pairwise(built)
        }
    if not asked:
        raise UsageError(
            f"there is nothing to ask a judge about: {_why_nothing(suite, judges, labels, left_out)}"
        )
    counter = choose_counter()
    questions = [2 if one in compared else 1 for one in asked]
    return CalibrationPlan(
        answers=[
            AnswerToAsk(key=key, graders=graders)
            for key in trials
            if (graders := tuple(name for name in judges.get(key.task, {}) if (key, name) in asked))
        ],
        labels=used,
        left_out=left_out,
        pairwise=frozenset(compared),
        questions=sum(questions),
        tokens=sum(_count_tokens(trials[key], name, counter, (key, name) in compared) for key, name in asked),
        estimated=counter.name == "estimate",
    )


def _choose_judges(suite: Suite, graders: Sequence[str]) -> Judges:
    """Return the judges of a suite, or those of the given names. Raises UsageError for a name that none has."""
    judges = list_judges(suite)
    names = {name: None for own in judges.values() for name in own}
    for name in graders:
        if name not in names:
            there = list_first(list(names), _LISTED) or "none"
            raise UsageError(f"the suite has no grader {name!r} that asks a judge; there are: {there}")
    if not graders:
        return judges
    return {
        task: {name: built for name, built in own.items() if name in graders} for task, own in judges.items()
    }


def _why_nothing(suite: Suite, judges: Judges, labels: Labels | None, left_out: Sequence[UnusedLabel]) -> str:
    """Return why no answer can be judged, and what to do."""
    if not any(judges.values()):
        return f"no grader of {display_path(suite.path)} asks a judge; name a suite that has one"
    if left_out:
        return "; ".join(dict.fromkeys(f"{one.grader}: {one.why}" for one in left_out))
    if labels is not None:
        return "no label is about a grader that is asked; make labels with `waza label`"
    return (
        f"the results have no answer that a judge of {display_path(suite.path)} could be asked about; name the results "
        "of this suite with --results"
    )


def _has_baseline(key: AnswerKey, trials: Mapping[AnswerKey, TrialResult]) -> bool:
    below = trials.get(key._replace(arm="baseline"))
    return key.arm == "main" and below is not None and bool(below.final_output)


def _count_tokens(trial: TrialResult, grader: str, counter: TokenCounter, compares: bool) -> int:
    """Return how many tokens it takes to ask about an answer; as many as then, where the results have what was asked."""
    asked = read_reply((trial.validations or {}).get(grader)).asked
    if compares:
        return 2 * counter.count(f"{asked}{trial.prompt}{trial.final_output}")
    return counter.count(asked or f"{trial.prompt}{trial.final_output}")


def list_judges(suite: Suite) -> Judges:
    """Return the graders that ask a judge, by task and name."""
    return {
        task.id: {built.spec.name: built for built in task.graders if asks_judge(built)}
        for task in suite.tasks
    }


def is_pairwise(built: BuiltGrader) -> bool:
    """Tell whether a grader compares two answers."""
    return isinstance(built.grader, Prompt) and built.grader.mode == "pairwise"


def _sort_labels(
    labels: Labels | None,
    recorded: SuiteResult,
    judges: Judges,
    graders: Sequence[str],
) -> tuple[list[Label], list[UnusedLabel]]:
    """Return the labels that count, and those that cannot be used. Labels by graders that were not asked for are neither."""
    answers, used, left_out = read_answers(recorded), list[Label](), list[UnusedLabel]()
    for one in labels.labels if labels else ():
        if graders and one.grader not in graders:
            continue
        answer = answers.get(one.key)
        built = judges.get(one.task, {}).get(one.grader)
        if answer is None:
            why = "the results have no such answer"
        elif answer.sha256 != one.answer_sha256:
            why = "the answer changed since it was labelled"
        elif built is None:
            why = "the suite has no such task, or no such grader that asks a judge"
        elif is_pairwise(built):
            why = "the grader compares two answers now"
        else:
            used.append(one)
            continue
        left_out.append(
            UnusedLabel(
                arm=one.arm, task=one.task, trial=one.trial, grader=one.grader, rater=one.rater, why=why
            )
        )
    return used, left_out
