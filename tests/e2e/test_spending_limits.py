"""`config.limits`: a run that meets one starts no more work, says so, has not passed, and goes on with --resume."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.a2a_agent import served
from tests.support.program import Ended, mock_suite, strict_json, waza, write_tree

SAYS = "{type: text, name: says, config: {contains: [hello]}}"
JUDGE = "{type: prompt, name: asks, config: {prompt: Is it right?}}"
USED = "usage: {input_tokens: 80, output_tokens: 20, ai_credits: 2}"
ASKED = "judge: {asks: [{pass: fine, usage: {input_tokens: 40, output_tokens: 10, ai_credits: 1}}]}"
PRICES = "prices: {source: a contract, models: {test-model: {input: 1000, output: 10000}}}\n"  # 0.28 a turn


def task(*graders: str, mock: str = f"output: hello, {USED}", more: str = "") -> str:
    return f"inputs: {{prompt: p{more}}}\nmock: {{{mock}}}\ngraders: [{', '.join(graders or (SAYS,))}]"


def suite(root: Path, limits: str, tasks: dict[str, str] | None = None, head: str = "", *config: str) -> Path:
    given = tasks or {name: task() for name in ("a", "b", "c")}
    return mock_suite(root, given, head, [f"limits: {limits}", *config])


def limit_of(ended: Ended) -> str:
    """The limit that ended a run, which then has not passed, by its results."""
    results = ended.results()
    metadata = results["metadata"]
    assert ended.code == 1, ended.err
    assert metadata["run_status"] == "limit"
    assert metadata["verdict"]["passed"] is False
    assert metadata["limit"] in metadata["verdict"]["reasons"]
    assert metadata["limit"] in ended.out
    return str(metadata["limit"])


def statuses(ended: Ended) -> dict[str, list[str]]:
    return {one["test_id"]: [run["status"] for run in one["runs"]] for one in ended.results()["tasks"]}


@pytest.mark.parametrize(
    ("limit", "figures"),
    [
        ("max_total_tokens: 200", "200 of 200 tokens used"),
        ("max_ai_credits: 3", "4 of 3 AI credits used"),
        ("max_cost: 0.5", "0.56 of 0.5 used"),
    ],
)
def test_no_agent_starts_once_a_limit_is_met_and_a_resumed_run_goes_on(
    tmp_path: Path, limit: str, figures: str
):
    write_tree(tmp_path, {".waza.yaml": PRICES})
    ended = waza("run", suite(tmp_path, f"{{{limit}}}"), cwd=tmp_path)
    assert limit_of(ended) == f"the limit config.limits.{limit.split(':', maxsplit=1)[0]} is met: {figures}"
    assert statuses(ended) == {"a": ["passed"], "b": ["passed"], "c": []}
    again = waza("run", "eval.yaml", "--resume", cwd=tmp_path)
    assert limit_of(again) == limit_of(ended)  # what earlier parts used counts
    suite(tmp_path, "{max_total_tokens: 1000}")
    more = waza("run", "eval.yaml", "--resume", cwd=tmp_path)
    assert more.code == 0, more.err
    assert "2 finished runs kept" in more.err
    assert statuses(more) == {"a": ["passed"], "b": ["passed"], "c": ["passed"]}


def test_a_run_that_used_exactly_what_it_may_passes_and_one_that_used_more_does_not(tmp_path: Path):
    assert waza("run", suite(tmp_path / "exact", "{max_total_tokens: 300}"), cwd=tmp_path / "exact").code == 0
    over = waza("run", suite(tmp_path / "over", "{max_total_tokens: 299}"), cwd=tmp_path / "over")
    assert "300 of 299 tokens" in limit_of(over)
    assert statuses(over) == {"a": ["passed"], "b": ["passed"], "c": ["passed"]}


def test_a_limit_within_a_trial_cuts_it_at_the_next_turn_and_a_resumed_run_repeats_it(tmp_path: Path):
    turns = f"turns: [{{output: one, {USED}}}, {{output: two, {USED}}}, {{output: hello, {USED}}}]"
    tasks = {"a": task(mock=turns, more=", follow_up_prompts: [q, r]")}
    ended = waza("run", suite(tmp_path, "{max_total_tokens: 150}", tasks), cwd=tmp_path)
    assert "200 of 150 tokens" in limit_of(ended)
    (run,) = ended.results()["tasks"][0]["runs"]
    assert (run["status"], run["session_digest"]["usage"]["turns"]) == ("error", 2)
    assert "follow-up 2/2: the limit config.limits.max_total_tokens is met" in run["error_msg"]
    suite(tmp_path, "{max_total_tokens: 1000}", tasks)
    more = waza("run", "eval.yaml", "--resume", cwd=tmp_path)
    assert more.code == 0
    assert statuses(more) == {"a": ["passed"]}
    assert more.results()["tasks"][0]["runs"][0]["error_retries"] == 1


def test_no_judge_is_asked_once_a_limit_is_met_and_judges_count(tmp_path: Path):
    tasks = {name: task(SAYS, JUDGE, mock=f"output: hello, {USED}, {ASKED}") for name in ("a", "b")}
    ended = waza("run", suite(tmp_path, "{max_total_tokens: 250}", tasks), cwd=tmp_path)
    assert "250 of 250 tokens" in limit_of(ended)
    found = {one["test_id"]: one["runs"][0] for one in ended.results()["tasks"]}
    assert found["a"]["status"] == "passed"
    assert found["a"]["grader_sessions"][0]["usage"]["input_tokens"] == 40
    assert found["b"]["status"] == "error"
    assert found["b"]["validations"]["says"]["passed"] is True  # what asks nobody still judges
    assert found["b"]["validations"]["asks"]["passed"] is False
    assert "config.limits.max_total_tokens is met" in found["b"]["error_msg"]
    suite(tmp_path, "{max_total_tokens: 1000}", tasks)
    assert statuses(waza("run", "eval.yaml", "--resume", cwd=tmp_path)) == {"a": ["passed"], "b": ["passed"]}


def test_the_arm_without_skills_is_not_started_and_nothing_is_compared(tmp_path: Path):
    write_tree(tmp_path, {"skills/s/SKILL.md": "---\nname: s\ndescription: d\n---\nbody\n"})
    head = "skill: s\nbaseline: true\nhooks: {before_run: [{command: echo arm >> arms}]}"
    ended = waza("run", suite(tmp_path, "{max_total_tokens: 300}", head=head), cwd=tmp_path)
    assert "300 of 300 tokens" in limit_of(ended)
    results = ended.results()
    assert results["baseline_outcome"]["metadata"] == {"run_status": "not_started"}
    assert any("not compared" in reason for reason in results["metadata"]["verdict"]["reasons"])
    assert (tmp_path / "arms").read_text().split() == ["arm"]
    suite(tmp_path, "{max_total_tokens: 1000}", head=head)
    more = waza("run", "eval.yaml", "--resume", cwd=tmp_path)
    assert more.results()["baseline_outcome"]["summary"]["succeeded"] == 3


def test_trigger_tests_are_not_run_once_a_limit_is_met(tmp_path: Path):
    write_tree(
        tmp_path,
        {
            "skills/s/SKILL.md": "---\nname: s\ndescription: d\n---\nbody\n",
            "trigger_tests.yaml": "skill: s\nshould_trigger_prompts: [{prompt: go}]\n",
        },
    )
    head = "skill: s\nmock: {triggers: {go: true}}"
    ended = waza("run", suite(tmp_path, "{max_total_tokens: 300}", head=head), cwd=tmp_path)
    assert "300 of 300 tokens" in limit_of(ended)
    assert "trigger_metrics" not in ended.results()
    suite(tmp_path, "{max_total_tokens: 301}", head=head)
    more = waza("run", "eval.yaml", "--resume", cwd=tmp_path)
    assert (more.code, more.results()["trigger_metrics"]["true_positives"]) == (0, 1)


def test_a_trial_that_used_more_than_it_may_is_an_error_of_its_own_and_the_run_goes_on(tmp_path: Path):
    long = f"turns: [{{output: one, {USED}}}, {{output: hello, {USED}}}]"
    tasks = {
        "a": task(mock=long, more=", follow_up_prompts: [q]"),
        "b": task(),
        "c": task(SAYS, JUDGE, mock=f"output: hello, {USED}, {ASKED}"),
    }
    limits = "{trial: {max_total_tokens: 100}}"
    ended = waza("run", suite(tmp_path, limits, tasks, "", "stop_after_errors: 1"), cwd=tmp_path)
    results = ended.results()
    assert (ended.code, results["metadata"]["run_status"]) == (1, "complete")
    assert statuses(ended) == {"a": ["error"], "b": ["passed"], "c": ["error"]}
    found = {one["test_id"]: one["runs"][0] for one in results["tasks"]}
    cause = "the limit config.limits.trial.max_total_tokens is met: 100 of 100 tokens used"
    assert cause in found["a"]["error_msg"]
    assert cause in found["c"]["error_msg"]
    again = waza("run", "eval.yaml", "--resume", cwd=tmp_path)  # the agent used it up, so nothing is repeated
    assert "is finished" in again.err


@pytest.mark.slow
def test_a_turn_is_cut_off_when_the_time_of_the_run_is_up(tmp_path: Path):
    tasks = {"a": task(), "b": task(mock="delay_ms: 100000000"), "c": task()}
    ended = waza("run", suite(tmp_path, "{max_wall_seconds: 1}", tasks), cwd=tmp_path)
    assert limit_of(ended).startswith("the limit config.limits.max_wall_seconds is met: ")
    assert statuses(ended) == {"a": ["passed"], "b": ["error"], "c": []}
    again = waza("run", "eval.yaml", "--resume", cwd=tmp_path)  # all parts count
    assert statuses(again) == {"a": ["passed"], "b": ["error"], "c": []}
    suite(tmp_path, "{trial: {max_wall_seconds: 1}}", tasks)
    more = waza("run", "eval.yaml", "--resume", cwd=tmp_path)
    assert more.results()["metadata"]["run_status"] == "complete"
    assert statuses(more) == {"a": ["passed"], "b": ["error"], "c": ["passed"]}
    assert "config.limits.trial.max_wall_seconds" in more.results()["tasks"][1]["runs"][0]["error_msg"]


@pytest.mark.parametrize(
    ("config", "limits", "said"),
    [
        ("executor: command", "{max_total_tokens: 9}", "limits.max_total_tokens: needs token counts, which the executor 'command'"),
        ("executor: command", "{trial: {max_cost: 9}}", "limits.trial.max_cost: needs token counts"),
        ("executor: mock", "{max_cost: 9}", "limits.max_cost: needs the price of the model, which is not named"),
        ("executor: mock\n  model: m", "{max_cost: 9}", "a price, and none is known of the model m; add it to .waza.yaml"),
        ("executor: mock", "{max_tokens: 9}", "limits.max_tokens: unknown key 'max_tokens'"),
        ("executor: mock", "{max_total_tokens: 0}", "limits.max_total_tokens"),
        ("executor: mock", "{trial: {requests_per_minute: 9}}", "limits.trial.requests_per_minute"),
    ],
)  # fmt: skip
def test_a_limit_that_cannot_be_kept_is_a_mistake_in_the_suite(
    tmp_path: Path, config: str, limits: str, said: str
):
    options = "\n  executor_options: {command: 'true'}" if "command" in config else ""
    text = f"name: s\nconfig:\n  {config}{options}\n  limits: {limits}\ntasks: ['tasks/*.yaml']\n"
    write_tree(
        tmp_path,
        {"eval.yaml": text, "tasks/a.yaml": "inputs: {prompt: p}\nexpected: {output_contains: [a]}\n"},
    )
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert ended.code == 2
    assert said in ended.err


def test_costs_are_in_results_and_their_sums(tmp_path: Path):
    write_tree(tmp_path, {".waza.yaml": PRICES})
    mock = f"output: hello, {USED}, {ASKED}"
    tasks = {"a": task(SAYS, JUDGE, mock=mock), "b": task(mock="output: hello")}
    ended = waza("run", mock_suite(tmp_path, tasks, "", ["trials_per_task: 2"]), cwd=tmp_path)
    results = ended.results()
    a, b = results["tasks"]
    assert a["runs"][0]["cost"] == {"amount": 0.42, "currency": "USD", "source": "a contract"}
    assert a["cost"]["amount"] == results["summary"]["cost"]["amount"] == 0.84
    assert "cost" not in b["runs"][0]  # its tokens are not known
    (tmp_path / ".waza.yaml").write_text("prices: {models: {other: {input: 1, output: 1}}}\n")
    unknown = waza("run", "eval.yaml", cwd=tmp_path).results()
    assert "cost" not in unknown["summary"]
    assert "cost" not in unknown["tasks"][0]["runs"][0]


FLAKY = """
import pathlib, sys
tries = pathlib.Path(sys.argv[1], "tries")
tries.write_text(tries.read_text() + "x" if tries.exists() else "x")
if len(tries.read_text()) < 3:
    print("come back", file=sys.stderr)
    raise SystemExit(int(sys.argv[2]))
print("hello")
"""


def flaky(root: Path, code: int, retries: int) -> Ended:
    command = f"{sys.executable} {root / 'flaky.py'} {root} {code}"
    text = (
        f"name: s\nconfig:\n  executor: command\n  executor_options: {{command: '{command}'}}\n"
        f"  error_retries: {retries}\ntasks: ['tasks/*.yaml']\n"
    )
    write_tree(
        root,
        {
            "flaky.py": FLAKY,
            "eval.yaml": text,
            "tasks/a.yaml": "inputs: {prompt: p}\nexpected: {output_contains: [hello]}\n",
        },
    )
    return waza("run", "eval.yaml", cwd=root)


def test_an_error_that_passes_is_tried_again_and_counted_apart(tmp_path: Path):
    ended = flaky(tmp_path, 75, 2)
    assert ended.code == 0, ended.err
    assert "error retry 2 of 2" in ended.err
    run: dict[str, Any] = ended.results()["tasks"][0]["runs"][0]
    assert (run["attempts"], run["error_retries"]) == (1, 2)
    assert [one["status"] for one in run["attempt_history"]] == ["error", "error"]


def test_an_error_stands_when_all_retries_are_used_and_one_of_the_agent_is_not_tried_again(tmp_path: Path):
    ended = flaky(tmp_path / "used", 75, 1)
    assert ended.code == 1
    assert ended.results()["tasks"][0]["runs"][0]["error_retries"] == 1
    own = flaky(tmp_path / "own", 3, 2)
    assert "error_retries" not in own.results()["tasks"][0]["runs"][0]
    assert (tmp_path / "own" / "tries").read_text() == "x"


def test_a_server_that_takes_no_requests_for_now_is_asked_again_as_it_says(tmp_path: Path):
    text = "name: s\nconfig: {{executor: a2a, executor_options: {{url: '{}', attempts: 1}}, error_retries: {}}}\ntasks: [a.yaml]\n"
    write_tree(tmp_path, {"a.yaml": "inputs: {prompt: hello}\nexpected: {output_contains: [hello]}\n"})
    with served() as agent:
        write_tree(tmp_path, {"eval.yaml": text.format(agent.url, 2)})
        agent.busy = 2
        ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert agent.requests == 3
    run = ended.results()["tasks"][0]["runs"][0]
    assert (run["error_retries"], run["attempts"]) == (2, 1)
    assert all("429" in one["error_msg"] for one in run["attempt_history"])


def test_costs_are_in_every_report(tmp_path: Path):
    write_tree(tmp_path, {".waza.yaml": PRICES})
    mock_suite(tmp_path, {"a": task()})
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert "0.28 USD (a contract)" in ended.out
    assert "cost: 0.28 USD (a contract)" in waza("show", "a", cwd=tmp_path).out
    assert "0.28 USD" in waza("history", cwd=tmp_path).out
    waza("report", "-o", "report.html", cwd=tmp_path)
    assert "0.28 USD" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_waza_grade_holds_judges_to_the_limits(tmp_path: Path):
    tasks = {name: task(JUDGE, mock=f"output: hello, {USED}, {ASKED}") for name in ("a", "b")}
    assert waza("run", suite(tmp_path, "{max_total_tokens: 1000}", tasks), cwd=tmp_path).code == 0
    (results,) = (tmp_path / ".waza" / "runs").glob("*/results.json")
    suite(tmp_path, "{max_total_tokens: 50}", tasks)
    ended = waza("grade", "eval.yaml", "--results", results, "--fail", cwd=tmp_path)
    assert ended.code == 1
    assert "b, run 1: running graders: asks: " in ended.err
    assert "the limit config.limits.max_total_tokens is met: 50 of 50 tokens used" in ended.err
    scores = strict_json(ended.out)
    assert [scores["tasks"][name]["passed"] for name in ("a", "b")] == [True, False]
