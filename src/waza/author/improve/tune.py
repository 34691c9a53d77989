"""`waza dev --tune`: better descriptions by trigger tests, without choosing by the data that is reported.

The prompts are in three parts (`split.py`). A model that is shown outcomes of the train part proposes descriptions; the one to
keep is chosen by the validation part, where it must be better than the present one by more than chance; and the sealed part is
read once, when the choice is made, for the figures that are reported. Without a choice it stays sealed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from waza.author.check.compliance import LONGEST
from waza.author.improve.ask import Asker, AskError, compose, read_object
from waza.author.improve.description import DescriptionError, replace_description
from waza.author.improve.split import LabelledPrompt, Part, Split
from waza.errors import RunError
from waza.kit.moments import write_now
from waza.kit.stats import mean, wilson
from waza.kit.text import pluralize
from waza.report.words import one_line, shortened
from waza.results.comparison.comparison import ALPHA, Comparison
from waza.results.comparison.conclude import Measured, compare_measured
from waza.results.comparison.measured import MeasuredTask, MeasuredTrial
from waza.results.comparison.sign_flip import least_p_value

ASKER = "dev_tune"
"""The name by which a scripted judge knows the question (`mock.judge.dev_tune`)."""

_PATIENCE = 3  # candidates in a row that do not differ from the best one
_UNUSABLE = 2  # answers in a row that are no description
_PROMPT = 300  # characters of a prompt in a question

_TASK = f"""An AI agent chooses skills by their descriptions alone. Below are a skill with its present description, and requests with the
outcome that they should have and the one they had with the best description so far. Write a description with which the agent
chooses the skill for requests like those that need it, and for no others. Say what kinds of requests belong to it; do not list
these requests, since others will be tried. It has at most {LONGEST} characters and is plain text; keep marks such as 'USE FOR:' and
'DO NOT USE FOR:' if it has them. Earlier attempts are shown with what they achieved; write something else.

Answer with one JSON object and nothing else: {{"description": "<text>"}}"""


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured of prompts: by text, whether each trial had the right outcome. `errors` are trials that broke."""

    right: Mapping[str, tuple[bool, ...]]
    errors: int = 0
    error: str = ""


Measure = Callable[[str, Sequence[LabelledPrompt]], Awaitable[Measurement]]
"""Measures prompts with a description."""


class PartFigures(msgspec.Struct, frozen=True, kw_only=True):
    """How a description does on a part: of the prompts that were measured, how many have the right outcome.

    With several trials a prompt counts as right if most of its trials are; `accuracy` is the mean over all prompts of the share of
    right trials. `unmeasured` prompts have no trial that came to its end.
    """

    prompts: int
    right: int
    unmeasured: int
    accuracy: float

    @property
    def measured(self) -> int:
        """How many prompts were measured."""
        return self.prompts - self.unmeasured

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % Wilson interval of the share of right prompts."""
        return wilson(self.right, self.measured)


class TunedDescription(msgspec.Struct, frozen=True, kw_only=True):
    """A description with its figures; number 0 is the present one. `comparison` is with that, on the validation part."""

    number: int
    description: str
    train: PartFigures
    validation: PartFigures
    comparison: Comparison | None = None


class SealedFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What the sealed part shows: of the present description, and of the chosen one."""

    read_at: str
    present: PartFigures
    chosen: PartFigures
    comparison: Comparison


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """A tuning: the parts, everything that was tried, why it stopped, what was chosen, and what the sealed part shows.

    `tried` counts descriptions that were measured besides the present one. `chosen` is the number of one, None: the present
    description stays. `notes` say what was not as it should be.
    """

    skill: str
    split: Split
    trials: int
    tried: tuple[TunedDescription, ...]
    present: TunedDescription
    stopped: str
    chosen: int | None = None
    sealed: SealedFigures | None = None
    notes: tuple[str, ...] = ()

    @property
    def chosen_description(self) -> str | None:
        """The description that was chosen."""
        return next((one.description for one in self.tried if one.number == self.chosen), None)


class Watcher(Protocol):
    """Receives what happens in a tuning, as it happens."""

    def measuring(self, what: str, prompts: int) -> None:
        """Note that a description is being measured on so many prompts."""
        ...

    def measured(self, tuning: Tuning) -> None:
        """Note how far the tuning is, after something was measured."""
        ...

    def unseal(self, tuning: Tuning) -> None:
        """Note that the sealed part is about to be read; what is raised here keeps it sealed."""
        ...


def most_candidates(prompts: int, wanted: int) -> int:
    """Return how many candidates so many validation prompts can tell from chance, `wanted` at most; 0: none at all."""
    usable = (number for number in range(wanted, 0, -1) if number * least_p_value(prompts) <= ALPHA)
    return next(usable, 0) if prompts else 0


def least_prompts() -> int:
    """Return how many validation prompts a single candidate needs to differ from chance."""
    return next(number for number in range(1, 100) if most_candidates(number, 1))


class TuneRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to tune: the text of the skill's file with its present description, the parts, and how much to try.

    `notes` are what the report has to say from the start, such as that the sealed part was read before.
    """

    skill: str
    definition: str
    description: str
    split: Split
    most: int
    trials: int = 1
    notes: tuple[str, ...] = ()


async def tune(request: TuneRequest, asker: Asker, measure: Measure, watcher: Watcher) -> Tuning:
    """Tune a description. Raises RunError if nothing can be measured."""
    return await _Loop(request, asker, measure, watcher).run()


async def ask_first(request: TuneRequest, asker: Asker) -> None:
    """Ask the first question without outcomes, as a preview does, which raises NotAskedError."""
    await asker.ask(ASKER, _question(request, request.description, None, []))


class _Loop:
    """A tuning while it lasts."""

    def __init__(self, request: TuneRequest, asker: Asker, measure: Measure, watcher: Watcher) -> None:
        self.request, self.asker, self.measure, self.watcher = request, asker, measure, watcher
        self.split = request.split
        self.seen: dict[int, Measurement] = {}  # of train and validation, by the number of the description
        self.tried: list[TunedDescription] = []
        self.notes: list[str] = [*request.notes]
        self.best = 0  # on the train part

    async def run(self) -> Tuning:
        """Measure the present description, try others, choose, and read the sealed part if there is a choice."""
        self.present = await self._try(0, self.request.description)
        stopped = await self._propose()
        self.tried = self._compare_with_present()
        better = [
            one
            for one in self.tried
            if one.comparison
            and one.comparison.is_significant()
            and (one.comparison.mean_difference or 0) > 0
        ]
        chosen = max(better, key=lambda one: (one.validation.accuracy, -len(one.description)), default=None)
        tuning = self._tuning(stopped, chosen.number if chosen else None)
        if chosen is None:
            self.watcher.measured(tuning)
            return tuning
        self.watcher.unseal(tuning)
        tuning = msgspec.structs.replace(
            tuning, sealed=await self._read_sealed(chosen), notes=tuple(self.notes)
        )
        self.watcher.measured(tuning)
        return tuning

    async def _propose(self) -> str:
        """Try descriptions of the model; return why no further one was tried."""
        stale = unusable = 0
        while len(self.tried) < self.request.most:
            best = self._description(self.best)
            if best.train.right == best.train.measured:
                return "all prompts of the train part have the right outcome"
            try:
                description = await self._ask(best)
            except AskError as error:
                self.notes.append(f"an answer of the model was not used: {one_line(str(error), 200)}")
                unusable += 1
                if unusable == _UNUSABLE:
                    return f"the model gave no usable description {_UNUSABLE} times in a row"
                continue
            unusable = 0
            candidate = await self._try(len(self.tried) + 1, description)
            self.tried.append(candidate)
            stale = 0 if self._is_better_on_train(candidate.number) else stale + 1
            if candidate.train.accuracy > best.train.accuracy:
                self.best = candidate.number
            self.watcher.measured(self._tuning("", None))
            if stale == _PATIENCE:
                return f"{_PATIENCE} candidates in a row did not differ from the best one on the train part by more than chance"
        return f"{pluralize(self.request.most, 'candidate')} were tried, as many as were to be"

    async def _try(self, number: int, description: str) -> TunedDescription:
        prompts = (*self.split.train, *self.split.validation)
        name = f"candidate {number}" if number else "the present description"
        found = await self._measure(name, description, prompts)
        self.seen[number] = found
        return TunedDescription(
            number=number,
            description=description,
            train=figures(found, self.split.train),
            validation=figures(found, self.split.validation),
        )

    async def _measure(self, name: str, description: str, prompts: Sequence[LabelledPrompt]) -> Measurement:
        self.watcher.measuring(name, len(prompts))
        found = await self.measure(description, prompts)
        if not any(found.right.get(one.text) for one in prompts):
            raise RunError(
                f"{name} could not be measured on any prompt: {found.error or 'no trial came to its end'}"
            )
        if found.errors:
            self.notes.append(
                f"{pluralize(found.errors, 'trial')} of {name} broke and are not counted: {found.error}"
            )
        return found

    async def _ask(self, best: TunedDescription) -> str:
        question = _question(
            self.request, best.description, self.seen[best.number], [self.present, *self.tried]
        )
        value = read_object(await self.asker.ask(ASKER, question), "description")["description"]
        description = " ".join(value.split()) if isinstance(value, str) else ""
        if not description:
            raise AskError("it is no text")
        if len(description) > LONGEST:
            raise AskError(f"it has {len(description):,} characters, and {LONGEST:,} are allowed")
        if description in [self.request.description, *(one.description for one in self.tried)]:
            raise AskError("it was tried before")
        try:
            replace_description(self.request.definition, description)
        except DescriptionError as error:
            raise AskError(str(error)) from error
        return description

    def _description(self, number: int) -> TunedDescription:
        return self.tried[number - 1] if number else self.present

    def _is_better_on_train(self, number: int) -> bool:
        found = compare(self.seen[self.best], self.seen[number], self.split.train)
        return found.is_significant() and (found.mean_difference or 0) > 0

    def _compare_with_present(self) -> list[TunedDescription]:
        """Return what was tried with comparisons on the validation part, adjusted for how many there are."""
        present = _measured("present", self.seen[0], self.split.validation)
        pairs = [
            (present, _measured(f"candidate {one.number}", self.seen[one.number], self.split.validation))
            for one in self.tried
        ]
        return [
            msgspec.structs.replace(one, comparison=comparison)
            for one, comparison in zip(self.tried, compare_measured(pairs, resample=False), strict=True)
        ]

    async def _read_sealed(self, chosen: TunedDescription) -> SealedFigures:
        read_at = write_now()
        present = await self._measure("the present description", self.request.description, self.split.sealed)
        found = await self._measure(f"candidate {chosen.number}", chosen.description, self.split.sealed)
        return SealedFigures(
            read_at=read_at,
            present=figures(present, self.split.sealed),
            chosen=figures(found, self.split.sealed),
            comparison=compare(present, found, self.split.sealed),
        )

    def _tuning(self, stopped: str, chosen: int | None) -> Tuning:
        return Tuning(
            skill=self.request.skill,
            split=self.split,
            trials=self.request.trials,
            tried=tuple(self.tried),
            present=self.present,
            stopped=stopped,
            chosen=chosen,
            notes=tuple(self.notes),
        )


def figures(found: Measurement, prompts: Sequence[LabelledPrompt]) -> PartFigures:
    """Return the figures of prompts."""
    measured = [found.right[one.text] for one in prompts if found.right.get(one.text)]
    shares = [mean([float(right) for right in trials]) for trials in measured]
    return PartFigures(
        prompts=len(prompts),
        right=sum(share > 0.5 for share in shares),  # most of the trials
        unmeasured=len(prompts) - len(measured),
        accuracy=mean(shares),
    )


def compare(a: Measurement, b: Measurement, prompts: Sequence[LabelledPrompt]) -> Comparison:
    """Return the comparison of two descriptions, prompt by prompt."""
    (found,) = compare_measured([(_measured("a", a, prompts), _measured("b", b, prompts))], resample=False)
    return found


def _measured(name: str, found: Measurement, prompts: Sequence[LabelledPrompt]) -> Measured:
    tasks = [
        MeasuredTask(
            id=one.text,
            group="",
            trials=tuple(MeasuredTrial({"score": float(right)}) for right in found.right.get(one.text, ())),
        )
        for one in prompts
    ]
    return Measured(name, tasks)


def _question(
    request: TuneRequest, best: str, found: Measurement | None, attempts: Sequence[TunedDescription]
) -> str:
    """Return the question for another description. Of validation and sealed prompts nothing is in it."""
    material: list[tuple[str, str]] = [
        ("The skill", _without_description(request)),
        ("Present description", request.description),
        ("Best description so far", best),
        ("Requests", "\n".join(_describe_request(one, found) for one in request.split.train)),
    ]
    if attempts:
        lines = [
            f"{one.train.right} of {one.train.measured} right: {shortened(one_line(one.description), LONGEST)}"
            for one in attempts
        ]
        material.append(("Attempts", "\n".join(lines)))
    return compose(_TASK, material)


def _without_description(request: TuneRequest) -> str:
    return replace_description(request.definition, "(see below)")


def _describe_request(prompt: LabelledPrompt, found: Measurement | None) -> str:
    should = "should be chosen" if prompt.should_trigger else "should not be chosen"
    trials = found.right.get(prompt.text, ()) if found else ()
    outcome = f"right in {sum(trials)} of {len(trials)}" if trials else "not measured"
    return f"- {should}, {outcome}: {one_line(prompt.text, _PROMPT)}"


def part_sizes(split: Split) -> dict[Part, int]:
    """Return how many prompts each part has."""
    return {part: len(split.of(part)) for part in ("train", "validation", "sealed")}


def tuning_to_json(tuning: Tuning) -> dict[str, Any]:
    """Return the JSON document."""
    sealed = tuning.sealed
    return {
        "skill": tuning.skill,
        "seed": tuning.split.seed,
        "trials": tuning.trials,
        "parts": {
            part: [
                {"prompt": one.text, "should_trigger": one.should_trigger} for one in tuning.split.of(part)
            ]
            for part in part_sizes(tuning.split)
        },
        "present": _description_to_json(tuning.present),
        "candidates": [_description_to_json(one) for one in tuning.tried],
        "tried": len(tuning.tried),
        "stopped": tuning.stopped,
        "chosen": tuning.chosen,
        "chosen_on": "validation",
        "sealed": sealed
        and {
            "read_at": sealed.read_at,
            "present": _figures_to_json(sealed.present),
            "chosen": _figures_to_json(sealed.chosen),
            **_comparison_to_json(sealed.comparison),
        },
        "notes": list(tuning.notes),
    }


def _description_to_json(one: TunedDescription) -> dict[str, Any]:
    return {
        "number": one.number,
        "description": one.description,
        "train": _figures_to_json(one.train),
        "validation": _figures_to_json(one.validation)
        | (_comparison_to_json(one.comparison) if one.comparison else {}),
    }


def _figures_to_json(found: PartFigures) -> dict[str, Any]:
    return {
        "prompts": found.prompts,
        "measured": found.measured,
        "right": found.right,
        "accuracy": found.accuracy,
        "ci95": list(found.interval),
    }


def _comparison_to_json(found: Comparison) -> dict[str, Any]:
    return {
        "difference": found.mean_difference,
        "difference_ci95": [found.interval.lower, found.interval.upper] if found.interval else None,
        "p_value": found.p_value,
        "p_adjusted": found.p_adjusted,
        "significant": found.is_significant(),
    }
