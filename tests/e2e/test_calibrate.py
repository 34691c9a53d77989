"""`waza assure calibrate`: figures of judges whose errors are known, since they are scripted."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import proportion_confint
from tests.support.program import Ended, mock_suite, strict_json, waza

from waza.author.assure.labels import Choice, Label, Labels, read_answers, read_labels
from waza.author.assure.model_family import find_family
from waza.kit.indented_json import indented_json
from waza.results.read import load

Given = Mapping[tuple[str, int], Choice]
"""Labels by task and trial."""


def prompt_grader(*names: str, **config: str) -> str:
    more = "".join(f", {key}: {value}" for key, value in config.items())
    lines = [
        f"  - {{type: prompt, name: {name}, config: {{prompt: 'Is it {name}?'{more}}}}}" for name in names
    ]
    return "graders:\n" + "\n".join(lines)


def play(judges: Mapping[str, Sequence[str]], output: str = "an answer") -> str:
    """A task whose judges have a step for each time they are asked: `pass`, `fail`, `error` or nothing."""
    steps = {
        "pass": "[{pass: good}]",
        "fail": "[{fail: bad}]",
        "error": "[{error: the line is dead}]",
        "": "[]",
        **{"".join(two): f"[{{winner: {two[0]}}}, {{winner: {two[1]}}}]" for two in
           (("A", "A"), ("B", "B"), ("A", "B"), ("B", "A"), ("tie", "tie"), ("A", "tie"), ("tie", "A"))},
        "A-": "[{winner: A}]",
    }  # fmt: skip
    times = max(map(len, judges.values()))
    executions = [
        "{judge: {"
        + ", ".join(f"{name}: {steps[own[time % len(own)]]}" for name, own in judges.items())
        + "}}"
        for time in range(times)
    ]
    return f"inputs: {{prompt: Answer.}}\nmock: {{output: {output}, executions: [{', '.join(executions)}]}}\n"


def run(
    root: Path, tasks: Mapping[str, str], graders: str, *options: str, config: Sequence[str] = ()
) -> None:
    mock_suite(root, tasks, graders, config)
    ended = waza("run", "eval.yaml", "-o", "results.json", *options, cwd=root)
    assert (root / "results.json").is_file(), ended.err


def label(root: Path, grader: str, given: Given, rater: str = "ann") -> None:
    """Add labels, as `waza label` writes them."""
    path = root / "labels.json"
    result, _ = load(root / "results.json")
    answers = read_answers(result)
    kept = read_labels(path).labels if path.exists() else []
    new = [
        Label(
            task=task, trial=trial, grader=grader, label=choice, rater=rater, time="2026-01-31T12:00:00Z",
            answer_sha256=next(one.sha256 for key, one in answers.items() if key == ("main", task, trial)),
        )
        for (task, trial), choice in given.items()
    ]  # fmt: skip
    labels = Labels(run=result.eval_id, results="results.json", labels=[*kept, *new])
    path.write_bytes(indented_json(labels))


def calibrate(root: Path, *options: str) -> Ended:
    return waza("assure", "calibrate", "eval.yaml", "--labels", "labels.json", *options, cwd=root)


def report(root: Path, *options: str, code: int = 0, labels: bool = True) -> dict[str, Any]:
    """The report, with its judges by the names of their graders."""
    source = ["--labels", "labels.json"] if labels else ["--results", "results.json"]
    ended = waza("assure", "calibrate", "eval.yaml", *source, "--yes", "--json", *options, cwd=root)
    assert ended.code == code, ended.err
    found: dict[str, Any] = strict_json(ended.out)
    found["judges"] = {one["grader"]: one for one in found["judges"]}
    return found


ERRORS = {"strict": (0.75, 0.97), "lenient": (0.97, 0.6), "coin": (0.5, 0.5)}
"""Of simulated judges, sensitivity and specificity."""
TRUE, TASKS, LABELLED = 0.6, 120, 60


@pytest.fixture(scope="module")
def simulated(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, dict[str, bool], dict[str, dict[str, bool]]]:
    """A run with judges of known errors; the truth of each task, and what each judge says of it."""
    root, random = tmp_path_factory.mktemp("simulated"), Random(20260131)
    truth = {f"t{number:03}": random.random() < TRUE for number in range(TASKS)}
    says = {
        name: {task: random.random() < (hits if good else 1 - rejections) for task, good in truth.items()}
        for name, (hits, rejections) in ERRORS.items()
    }
    tasks = {
        task: play({name: ["pass" if own[task] else "fail"] for name, own in says.items()}) for task in truth
    }
    run(root, tasks, prompt_grader(*ERRORS), config=["judge_model: judge-model"])
    for name in ERRORS:
        label(root, name, {(task, 1): "pass" if truth[task] else "fail" for task in list(truth)[:LABELLED]})
    return root, truth, says


def test_simulated_judges_are_corrected_to_the_truth(
    simulated: tuple[Path, dict[str, bool], dict[str, dict[str, bool]]],
) -> None:
    root, truth, says = simulated
    found = report(root, "--times", "2")
    assert found["left_out"] == []
    labelled = list(truth)[:LABELLED]
    for name, (hits, rejections) in ERRORS.items():
        judge = found["judges"][name]
        assert judge["consistency"]["equal"]["share"] == 1
        good = [says[name][task] for task in labelled if truth[task]]
        bad = [not says[name][task] for task in labelled if not truth[task]]
        table = [[sum(good), len(good) - sum(good)], [len(bad) - sum(bad), sum(bad)]]
        figures = judge["agreement"]["figures"]
        assert figures["kappa"] == pytest.approx(cohens_kappa(table).kappa)
        assert figures["lower"] <= figures["kappa"] <= figures["upper"]
        assert figures["first_passes"]["part"] == len(good)  # the base rate
        assert figures["second_passes"]["part"] == table[0][0] + table[1][0]
        for key, own, true in (("sensitivity", good, hits), ("specificity", bad, rejections)):
            share = judge["agreement"][key]
            assert (share["part"], share["total"]) == (sum(own), len(own))
            assert (share["lower"], share["upper"]) == pytest.approx(
                proportion_confint(sum(own), len(own), method="wilson")
            )
            assert share["lower"] <= true <= share["upper"]
        rate = judge["pass_rate"]
        assert (rate["measured"]["part"], rate["measured"]["total"]) == (sum(says[name].values()), TASKS)
        if name == "coin":
            continue
        assert not rate["measured"]["lower"] <= TRUE <= rate["measured"]["upper"]  # it misleads
        assert rate["lower"] <= TRUE <= rate["upper"]
        own_hits, own_rejections = sum(good) / len(good), sum(bad) / len(bad)
        expected = (rate["measured"]["share"] + own_rejections - 1) / (own_hits + own_rejections - 1)
        assert (rate["corrected"], rate["clipped"], rate["why"]) == (pytest.approx(expected), False, "")


def test_a_judge_no_better_than_chance_corrects_nothing(tmp_path: Path) -> None:
    says = {"one": "pass", "two": "fail", "three": "pass", "four": "fail"}
    run(tmp_path, {task: play({"coin": [verdict]}) for task, verdict in says.items()}, prompt_grader("coin"))
    label(
        tmp_path, "coin", {("one", 1): "pass", ("two", 1): "pass", ("three", 1): "fail", ("four", 1): "fail"}
    )
    rate = report(tmp_path)["judges"]["coin"]["pass_rate"]
    assert (rate["corrected"], rate["lower"], rate["upper"]) == (None, None, None)
    assert "no better than chance" in rate["why"]
    ended = calibrate(tmp_path, "--yes")
    assert "The pass rate cannot be corrected: sensitivity and specificity add up to 1 or less" in " ".join(
        ended.out.split()
    )
    assert "kappa with people:" in ended.out
    assert "0.00 (" in ended.out
    assert "50.0%, by chance it would be 50.0%" in ended.out


def test_what_is_clipped_is_marked(tmp_path: Path) -> None:
    good = {f"good{number}": "pass" for number in range(9)}
    tasks = {**good, "mixed": "fail", "bad": "fail"}
    run(tmp_path, {task: play({"tone": [verdict]}) for task, verdict in tasks.items()}, prompt_grader("tone"))
    label(tmp_path, "tone", {("good0", 1): "pass", ("mixed", 1): "pass", ("bad", 1): "fail"})
    rate = report(tmp_path)["judges"]["tone"]["pass_rate"]
    assert (rate["corrected"], rate["clipped"]) == (1, True)  # 9/11 is above the sensitivity of 1/2
    assert "clipped" in calibrate(tmp_path, "--yes").out


def test_a_judge_that_changes_its_mind_or_breaks(tmp_path: Path) -> None:
    tasks = {
        "steady": play({"tone": ["pass"]}),
        "wavers": play({"tone": ["pass", "fail", "pass"]}),
        "breaks": play({"tone": ["pass", "error", "pass"]}),
        "broken": play({"tone": ["error", "fail", "fail"]}),
        "silent": play({"tone": ["", "fail", "fail"]}),
        "rejects": play({"tone": ["fail"]}),
    }
    run(tmp_path, tasks, prompt_grader("tone"))
    # The judge of `broken` and `silent` reaches no verdict first: no agreement, although people fail the answers.
    label(
        tmp_path,
        "tone",
        {(task, 1): "pass" if task in ("steady", "wavers", "breaks") else "fail" for task in tasks},
    )
    found = report(tmp_path, code=1)["judges"]["tone"]
    by_task = {one["task"]: one for one in found["answers"]}
    assert {task: one["verdicts"] for task, one in by_task.items()} == {
        "steady": ["pass"] * 3,
        "wavers": ["pass", "fail", "pass"],
        "breaks": ["pass", "error", "pass"],
        "broken": ["error", "fail", "fail"],
        "silent": ["error", "fail", "fail"],
        "rejects": ["fail"] * 3,
    }
    assert {task: one["same"] for task, one in by_task.items()} == {
        "steady": True, "wavers": False, "breaks": None, "broken": None, "silent": None, "rejects": True,
    }  # fmt: skip
    assert (found["consistency"]["equal"]["part"], found["consistency"]["equal"]["total"]) == (2, 3)
    assert found["consistency"]["without_verdict"] == 3
    agreement = found["agreement"]
    assert (agreement["figures"]["answers"], agreement["without_verdict"]) == (4, 2)
    assert (agreement["sensitivity"]["part"], agreement["specificity"]["total"]) == (3, 1)
    # Nor do they count in the pass rate: of six answers four had a verdict.
    assert (found["pass_rate"]["measured"]["part"], found["pass_rate"]["measured"]["total"]) == (3, 4)
    ended = calibrate(tmp_path, "--yes")
    assert ended.code == 1
    assert "wavers, trial 1: pass, fail, pass" in ended.out
    assert "broken, trial 1: the judge gave no verdict: the line is dead" in ended.out
    assert "66.7%, 2 of 3" in ended.out


def test_people_may_be_unsure_or_disagree(tmp_path: Path) -> None:
    verdicts = {"a": "pass", "b": "pass", "c": "fail", "d": "fail", "e": "pass"}
    run(tmp_path, {task: play({"tone": [one]}) for task, one in verdicts.items()}, prompt_grader("tone"))
    label(
        tmp_path,
        "tone",
        {("a", 1): "pass", ("b", 1): "pass", ("c", 1): "fail", ("d", 1): "unsure", ("e", 1): "unsure"},
    )
    label(
        tmp_path,
        "tone",
        {("a", 1): "pass", ("b", 1): "fail", ("c", 1): "fail", ("d", 1): "fail", ("e", 1): "unsure"},
        "ben",
    )
    judge = report(tmp_path)["judges"]["tone"]
    agreement = judge["agreement"]
    assert (agreement["figures"]["answers"], agreement["disputed"], agreement["unsure"]) == (3, 1, 1)
    assert {one["task"]: one["label"] for one in judge["answers"]} == {
        "a": "pass", "b": "disputed", "c": "fail", "d": "fail", "e": "unsure",
    }  # fmt: skip
    [raters] = judge["raters"]
    assert raters["raters"] == ["ann", "ben"]
    assert raters["figures"]["answers"] == 3  # those of which both are sure
    assert raters["figures"]["kappa"] == pytest.approx(cohens_kappa([[1, 1], [0, 1]]).kappa)
    assert "kappa of ann and ben" in calibrate(tmp_path, "--yes").out


def test_labels_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    graders = f"{prompt_grader('tone')}\n  - {{type: text, name: words, config: {{contains: [a]}}}}"
    run(tmp_path, {name: play({"tone": ["pass"]}) for name in ("same", "changed", "gone")}, graders)
    label(tmp_path, "tone", {("same", 1): "pass", ("changed", 1): "pass", ("gone", 1): "pass"})
    label(tmp_path, "words", {("same", 1): "pass"})
    results = strict_json((tmp_path / "results.json").read_bytes())
    results["tasks"] = [one for one in results["tasks"] if one["test_id"] != "gone"]
    next(one for one in results["tasks"] if one["test_id"] == "changed")["runs"][0]["final_output"] = "other"
    (tmp_path / "results.json").write_text(json.dumps(results), encoding="utf-8")
    found = report(tmp_path, code=1)
    assert {(one["task"], one["grader"]): one["why"] for one in found["left_out"]} == {
        ("changed", "tone"): "the answer changed since it was labelled",
        ("gone", "tone"): "the results have no such answer",
        ("same", "words"): "the suite has no such task, or no such grader that asks a judge",
    }
    assert [one["task"] for one in found["judges"]["tone"]["answers"]] == ["same"]
    assert "ann on changed, trial 1 by tone: the answer changed" in calibrate(tmp_path, "--yes").out
    # The grader that is asked for decides which labels are meant.
    assert report(tmp_path, "--grader", "tone", code=1)["judges"].keys() == {"tone"}
    ended = calibrate(tmp_path, "--grader", "words", "--yes")
    assert ended.code == 2
    assert "no grader 'words' that asks a judge; there are: tone" in ended.err
    other = strict_json((tmp_path / "labels.json").read_bytes())
    (tmp_path / "labels.json").write_text(json.dumps({**other, "results": "nowhere.json"}))
    assert (
        "whose results are not at nowhere.json; name them with --results" in calibrate(tmp_path, "--yes").err
    )
    (tmp_path / "labels.json").write_text(json.dumps({**other, "run": "run-other"}))
    assert "has labels of run-other" in calibrate(tmp_path, "--yes").err


def test_nobody_is_asked_without_consent(tmp_path: Path) -> None:
    tasks = {f"t{number}": play({"tone": ["pass"], "form": ["pass"]}) for number in range(3)}
    run(tmp_path, tasks, prompt_grader("tone", "form"), config=["judge_model: judge-model"])
    label(tmp_path, "tone", {("t0", 1): "pass", ("t1", 1): "fail"})
    label(tmp_path, "form", {("t0", 1): "pass"})
    ended = calibrate(tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert "9 questions to the judge of mock (judge-model): 2 answers, 3 times each" in ended.err
    assert "--yes" in ended.err
    planned = calibrate(tmp_path, "--dry-run", "--times", "5")
    assert planned.code == 0
    assert planned.out.startswith("15 questions to the judge of mock")
    assert "nobody was asked" in planned.out
    assert "tokens" in planned.out
    assert waza("assure", "calibrate", "eval.yaml", cwd=tmp_path).code == 2
    found = report(tmp_path, labels=False)  # of all answers, only whether judges agree with themselves
    assert {name: len(one["answers"]) for name, one in found["judges"].items()} == {"tone": 3, "form": 3}
    assert all(one["agreement"] is None and one["pass_rate"] is None for one in found["judges"].values())
    assert [one.split(",")[0] for one in found["warnings"]] == ["the judge is scripted"]
    assert not list((tmp_path / ".waza/runs").glob("*/journal.ndjson"))[1:]  # only that of the run


def test_a_judge_that_is_not_that_of_the_run_corrects_nothing(tmp_path: Path) -> None:
    verdicts = {"a": "pass", "b": "pass", "c": "fail"}
    tasks = {task: play({"tone": [one]}) for task, one in verdicts.items()}
    run(tmp_path, tasks, prompt_grader("tone"), config=["judge_model: first"])
    label(tmp_path, "tone", {("a", 1): "pass", ("b", 1): "pass", ("c", 1): "fail"})
    assert report(tmp_path)["judges"]["tone"]["pass_rate"]["why"] == ""
    rate = report(tmp_path, "--judge-model", "second")["judges"]["tone"]["pass_rate"]
    assert (rate["corrected"], rate["why"]) == (None, "the judge of the run was first, and now it was second")
    suite = (tmp_path / "eval.yaml").read_text(encoding="utf-8")
    (tmp_path / "eval.yaml").write_text(suite.replace("Is it tone?", "Is it polite?"), encoding="utf-8")
    rate = report(tmp_path)["judges"]["tone"]["pass_rate"]
    assert rate["corrected"] is None
    assert "the run asked its judge another question than now" in rate["why"]


def test_a_grader_whose_own_judge_changed_corrects_nothing(tmp_path: Path) -> None:
    verdicts = {"a": "pass", "b": "pass", "c": "fail"}
    tasks = {task: play({"tone": [one]}) for task, one in verdicts.items()}
    run(tmp_path, tasks, prompt_grader("tone", model="own"), config=["judge_model: first"])
    label(tmp_path, "tone", {("a", 1): "pass", ("b", 1): "pass", ("c", 1): "fail"})
    suite = (tmp_path / "eval.yaml").read_text(encoding="utf-8")
    for change, why in (
        (", model: own", ""),
        (", model: other", "the judge of the run was own, and now it was other"),
        ("", "the judge of the run was own, and now it was first"),
    ):
        (tmp_path / "eval.yaml").write_text(suite.replace(", model: own", change), encoding="utf-8")
        rate = report(tmp_path)["judges"]["tone"]["pass_rate"]
        assert (rate["why"], rate["corrected"] is None) == (why, bool(why))


def test_trials_are_answers_of_their_own(tmp_path: Path) -> None:
    run(
        tmp_path,
        {"t": play({"tone": ["pass", "fail"]})},
        prompt_grader("tone"),
        config=["trials_per_task: 2"],
    )
    label(tmp_path, "tone", {("t", 1): "pass", ("t", 2): "fail"})
    judge = report(tmp_path)["judges"]["tone"]
    # A script plays what it has for the trial, and then for those after the last.
    assert {one["trial"]: one["verdicts"] for one in judge["answers"]} == {1: ["pass"] * 3, 2: ["fail"] * 3}
    assert judge["agreement"]["figures"]["kappa"] == 1


def test_the_order_of_a_comparison_may_decide(tmp_path: Path) -> None:
    # The letters are what the judge names with the baseline as A, and then with the skill as A.
    winners = {"first": "AA", "also": "AA", "second": "BB", "skill": "BA", "baseline": "AB", "tie": "tietie",
               "leans": "Atie", "broken": "error", "none": "A-"}  # fmt: skip
    (tmp_path / "skills/bot").mkdir(parents=True)
    (tmp_path / "skills/bot/SKILL.md").write_text("---\nname: bot\ndescription: d\n---\nHelp.")
    tasks = {task: play({"better": [one]}) for task, one in winners.items()}
    run(tmp_path, tasks, f"skill: bot\n{prompt_grader('better', mode='pairwise')}", "--baseline")
    planned = waza("assure", "calibrate", "eval.yaml", "--results", "results.json", "--dry-run", cwd=tmp_path)
    assert planned.out.startswith("54 questions")  # nine comparisons in two orders, three times
    judge = report(tmp_path, labels=False, code=1)["judges"]["better"]
    assert {one["task"]: one["verdicts"][0] for one in judge["answers"]} == {
        "first": "tie", "also": "tie", "second": "tie", "skill": "skill", "baseline": "baseline", "tie": "tie",
        "leans": "tie", "broken": "error", "none": "error",
    }  # fmt: skip
    position = judge["position"]
    assert (position["changed"]["part"], position["changed"]["total"], position["without_verdict"]) == (
        4,
        7,
        2,
    )
    first = position["first_preferred"]
    assert (first["part"], first["total"]) == (3, 4)
    assert (first["lower"], first["upper"]) == pytest.approx(proportion_confint(3, 4, method="wilson"))
    assert judge["agreement"] is None
    ended = waza("assure", "calibrate", "eval.yaml", "--results", "results.json", "--yes", cwd=tmp_path)
    assert "57.1%, 4 of 7" in ended.out
    assert "75.0%, 3 of 4" in ended.out


@pytest.mark.parametrize(
    ("agent", "judge", "warning"),
    [
        ("gpt-5", "gpt-4o-mini", "judge (gpt-4o-mini) and agent (gpt-5) are of one family, GPT"),
        ("claude-sonnet-4", "claude-sonnet-4", "both the same model (claude-sonnet-4)"),
        ("claude-sonnet-4", "gpt-5", ""),
        ("house-1", "house-2", ""),
    ],
)
def test_a_judge_of_the_agents_family_is_a_warning(
    tmp_path: Path, agent: str, judge: str, warning: str
) -> None:
    suite = mock_suite(
        tmp_path, {"t": play({"tone": ["pass"]})}, prompt_grader("tone"), [f"judge_model: {judge}"]
    )
    suite.write_text(suite.read_text(encoding="utf-8").replace("test-model", agent), encoding="utf-8")
    waza("run", "eval.yaml", "-o", "results.json", cwd=tmp_path)
    warnings = report(tmp_path, labels=False)["judges"]["tone"]["warnings"]
    assert [warning in one for one in warnings] == ([True] if warning else [])


def test_families_of_models() -> None:
    same = {
        "GPT": ("gpt-5", "azure/GPT-4o", "o3-mini", "openai:chatgpt-4o-latest"),
        "Claude": ("claude-sonnet-4.5", "anthropic/claude-3-haiku", "us.anthropic.claude-v2"),
        "Llama": ("llama3:8b", "meta-llama/Llama-3.1-70B", "codellama"),
        "Qwen": ("qwen2.5-coder", "Qwen3"),
    }
    for family, models in same.items():
        assert {find_family(one) for one in models} == {family}
    assert find_family("house-model-2") == "house-model-2"


def test_where_no_judge_can_be_asked_the_message_says_why(tmp_path: Path) -> None:
    run(tmp_path, {"t": play({"tone": ["pass"]})}, prompt_grader("tone"))
    judged = mock_suite(tmp_path / "other", {"u": play({"tone": ["pass"]})}, prompt_grader("tone"))
    plain = mock_suite(tmp_path / "plain", {"t": play({"tone": ["pass"]})}, "")
    for suite, why in (
        (plain, "no grader of plain/eval.yaml asks a judge; name a suite that has one"),
        (judged, "the results have no answer that a judge of other/eval.yaml could be asked about; name the results"),
    ):  # fmt: skip
        ended = waza("assure", "calibrate", suite, "--results", "results.json", "--yes", cwd=tmp_path)
        assert (ended.code, ended.out) == (2, "")
        assert f"there is nothing to ask a judge about: {why}" in ended.err.replace(os.sep, "/")
