"""Tuning: parts that stay, choices that chance does not make, and a sealed part that is read once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waza.author.improve.ask import Asker, AskOptions
from waza.author.improve.split import (
    PARTS,
    LabelledPrompt,
    find_seed,
    normalize_prompt,
    part_of,
    split_prompts,
)
from waza.author.improve.tune import (
    Measurement,
    TuneRequest,
    Tuning,
    figures,
    least_prompts,
    most_candidates,
    tune,
)
from waza.errors import RunError, UsageError
from waza.model.agent import JudgeAnswer, JudgeQuestion
from waza.model.loaded import TriggerPrompt, TriggerTests

PRESENT = "the present one"
DEFINITION = f"---\nname: s\ndescription: {PRESENT}\n---\n# Body\n"
Right = Callable[[str, LabelledPrompt], bool]


def trigger_tests(positive: Sequence[str], negative: Sequence[str] = ()) -> TriggerTests:
    return TriggerTests(
        skill="s",
        should_trigger_prompts=[TriggerPrompt(prompt=one) for one in positive],
        should_not_trigger_prompts=[TriggerPrompt(prompt=one) for one in negative],
    )


MANY = trigger_tests([f"do it {n}" for n in range(30)], [f"leave it {n}" for n in range(30)])


class Answers:
    """Gives one description after the other, and keeps the questions."""

    name = "answers"

    def __init__(self, *descriptions: str) -> None:
        self.left, self.questions = [*descriptions], list[str]()

    async def answer(self, question: JudgeQuestion, number: int) -> JudgeAnswer:
        self.questions.append(question.text)
        return JudgeAnswer(text=json.dumps({"description": self.left[number - 1]}))

    async def aclose(self) -> None:
        pass


class Agent:
    """Says by a rule which prompts have the right outcome, and notes what it was asked."""

    def __init__(self, right: Right, trials: int = 1) -> None:
        self.right, self.trials, self.calls = right, trials, list[tuple[str, frozenset[str]]]()

    async def __call__(self, description: str, prompts: Sequence[LabelledPrompt]) -> Measurement:
        self.calls.append((description, frozenset(one.text for one in prompts)))
        found = {one.text: tuple(self.right(description, one) for _ in range(self.trials)) for one in prompts}
        return Measurement(right=found)


class Watcher:
    def __init__(self) -> None:
        self.events: list[str] = []

    def measuring(self, what: str, prompts: int) -> None:
        self.events.append(f"{what}: {prompts}")

    def measured(self, tuning: Tuning) -> None:
        self.events.append(f"tried {len(tuning.tried)}")

    def unseal(self, tuning: Tuning) -> None:
        self.events.append(f"unseal for {tuning.chosen}")


def run(
    right: Right | Agent, *descriptions: str, tests: TriggerTests = MANY, most: int = 5
) -> tuple[Tuning, Agent, Answers, Watcher]:
    agent = right if isinstance(right, Agent) else Agent(right)
    answers, watcher = Answers(*descriptions, *[f"another {n}" for n in range(9)]), Watcher()
    request = TuneRequest(
        skill="s", definition=DEFINITION, description=PRESENT, split=split_prompts(tests, 0), most=most
    )
    tuning = asyncio.run(tune(request, Asker(answers, AskOptions()), agent, watcher))
    return tuning, agent, answers, watcher


def test_a_better_description_is_chosen_on_validation_and_reported_on_what_was_sealed():
    def right(description: str, prompt: LabelledPrompt) -> bool:
        return "good" in description or not prompt.should_trigger

    tuning, agent, answers, watcher = run(right, "worse", "good", "good as well")
    assert (tuning.chosen, tuning.chosen_description) == (2, "good")
    assert tuning.stopped == "all prompts of the train part have the right outcome"
    assert [one.description for one in tuning.tried] == ["worse", "good"]
    sealed = frozenset(one.text for one in tuning.split.sealed)
    before = [texts for _, texts in agent.calls[:3]]
    assert all(not texts & sealed for texts in before)
    assert agent.calls[3:] == [(PRESENT, sealed), ("good", sealed)]  # once each
    assert watcher.events[-4:-1] == [
        "unseal for 2",
        f"the present description: {len(sealed)}",
        f"candidate 2: {len(sealed)}",
    ]
    assert tuning.sealed
    assert tuning.sealed.chosen.right == len(sealed)
    assert tuning.sealed.chosen.interval[1] == 1
    assert 0.6 < tuning.sealed.chosen.interval[0] < 1
    hidden = [one.text for one in (*tuning.split.validation, *tuning.split.sealed)]
    for question in answers.questions:
        assert not [text for text in hidden if f": {text}\n" in f"{question}\n"]
        assert f": {tuning.split.train[0].text}\n" in question


def test_without_a_better_one_the_sealed_part_stays_sealed():
    tuning, agent, _, watcher = run(lambda _, prompt: prompt.should_trigger)
    assert (tuning.chosen, tuning.sealed) == (None, None)
    assert tuning.stopped.startswith("3 candidates in a row did not differ from the best one")
    assert len(tuning.tried) == 3
    sealed = {one.text for one in tuning.split.sealed}
    assert not any(texts & sealed for _, texts in agent.calls)
    assert not [event for event in watcher.events if event.startswith("unseal")]


def test_what_fits_the_train_part_alone_is_not_chosen():
    train = {one.text for one in split_prompts(MANY, 0).train}
    tuning, *_ = run(lambda description, prompt: description == "fits" and prompt.text in train, "fits")
    assert tuning.tried[0].train.right == len(train)
    assert (tuning.chosen, tuning.sealed) == (None, None)


def test_a_worse_one_is_not_chosen():
    tuning, *_ = run(lambda description, prompt: description == PRESENT and prompt.should_trigger)
    assert tuning.chosen is None
    assert tuning.tried[0].comparison
    assert tuning.tried[0].comparison.is_significant()


def test_chance_alone_hardly_ever_chooses():
    draw = Random(7)  # no secret
    found = [run(lambda *_: draw.random() < 0.6)[0].chosen for _ in range(200)]
    assert sum(one is not None for one in found) <= 12  # 5 % of 200 are 10; half of these are for the worse


def test_nothing_to_improve():
    tuning, _, answers, _ = run(lambda *_: True)
    assert (tuning.tried, tuning.chosen, answers.questions) == ((), None, [])


def test_answers_that_are_no_description():
    for bad in ("", "x" * 1025, PRESENT, "a\u0085b" * 3):
        tuning, *_ = run(lambda *_: False, bad, bad)
        assert tuning.tried == () or bad.startswith("a")
    tuning, *_ = run(lambda *_: False, "new", "new", "  ", most=2)
    assert tuning.stopped == "the model gave no usable description 2 times in a row"
    assert len(tuning.tried) == 1
    assert len(tuning.notes) == 2


def test_what_cannot_be_measured():
    class Broken(Agent):
        async def __call__(self, description: str, prompts: Sequence[LabelledPrompt]) -> Measurement:
            found = await super().__call__(description, prompts)
            texts = [one.text for one in prompts][
                : len(prompts) if description == PRESENT and self.all else 3
            ]
            return Measurement(
                right={**found.right, **dict.fromkeys(texts, ())}, errors=len(texts), error="no server"
            )

        all = False

    tuning, *_ = run(Broken(lambda *_: False), most=1)
    assert "3 trials of candidate 1 broke and are not counted: no server" in tuning.notes
    assert tuning.present.train.unmeasured + tuning.present.validation.unmeasured == 3
    Broken.all = True
    with pytest.raises(
        RunError, match="the present description could not be measured on any prompt: no server"
    ):
        run(Broken(lambda *_: False))


def test_several_trials():
    found = Measurement(right={"a": (True, True, False), "b": (True, False), "c": ()})
    prompts = [LabelledPrompt(text, should_trigger=True) for text in "abc"]
    figure = figures(found, prompts)
    assert (figure.prompts, figure.measured, figure.right) == (3, 2, 1)
    assert figure.accuracy == pytest.approx((2 / 3 + 1 / 2) / 2)


@pytest.mark.parametrize(("prompts", "most"), [(0, 0), (5, 0), (6, 1), (7, 3), (8, 5), (100, 5)])
def test_few_prompts_tell_few_candidates_apart(prompts, most):
    assert most_candidates(prompts, 5) == most
    assert least_prompts() == 6


@given(st.text("aBc dé日7", min_size=1).filter(str.strip), st.integers(0, 5))
def test_the_part_of_a_prompt_depends_on_its_words_alone(text, seed):
    assert part_of(text, seed) == part_of(f"  {text.upper()}!\n", seed)
    assert part_of(text, seed) in PARTS


def test_parts_stay_when_others_come_and_go():
    texts = [f"do it {n}" for n in range(60)]
    whole = split_prompts(trigger_tests(texts), 3)
    part = split_prompts(trigger_tests([], texts[::-2]), 3)
    for name in PARTS:
        assert {one.text for one in part.of(name)} <= {one.text for one in whole.of(name)}
        assert 10 < len(whole.of(name)) < 30
    assert split_prompts(trigger_tests(texts), 4) != whole


def test_prompts_of_the_same_words_are_one():
    tests = trigger_tests(["Fix it!", "fix  IT", "\uff26ix it"])
    split = split_prompts(tests, 0)
    assert sum(len(split.of(part)) for part in PARTS) == 1
    assert normalize_prompt("?!") == "?!"
    with pytest.raises(UsageError, match="expect both outcomes of 'FIX it'"):
        split_prompts(trigger_tests(["Fix it!"], ["FIX it"]), 0)


def test_a_seed_with_enough_prompts_in_each_part():
    tests = trigger_tests([f"do it {n}" for n in range(21)])
    seed = find_seed(tests, 6, 1)
    assert seed is not None
    assert min(len(split_prompts(tests, seed).of(part)) for part in PARTS) >= 6
    assert find_seed(trigger_tests(["a"]), 6, 1) is None
