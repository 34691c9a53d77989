"""A/B runs: every task with the skills and without, what that changed, and what it means for the exit code."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, mock_suite, waza, write_tree

# An agent that says what it was given, so that its answers differ between the arms. Its judge prefers the
# answer with skills, and gives back all that it was asked as its reasoning.
SEER = """
import json
import os
from pathlib import Path
from waza.model.agent import JudgeAnswer, JudgeToolCall
from waza.model.capabilities import Capabilities
from waza.model.observation import SkillInvocation, Turn

class Seer:
    capabilities = Capabilities(judge=True, skills=True, tool_calls=True, tool_policy=True, usage=True)

    def __init__(self, setup):
        pass

    async def start(self):
        pass

    def works_in(self, task):
        return False

    async def open(self, attempt, place):
        return Session(attempt)

    def judge(self, attempt):
        return Judge()

    async def aclose(self):
        pass

class Session:
    def __init__(self, attempt):
        self.attempt = attempt

    async def send(self, prompt, limits):
        task, trial = self.attempt.task, self.attempt.trial
        with Path("order.log").open("a") as log:
            log.write(f"{trial.arm} {task.id} {trial.number}\\n")
        seen = {
            "skills": [path.name for path in task.skill_paths],
            "target": task.target.name if task.target else None,
            "off": task.no_skills,
            "trial": trial.number,
        }
        if prompt == "break":
            return Turn(error="it broke", session_id="s", duration_ms=1)
        skills = () if task.no_skills else (SkillInvocation(name="greeter"),)
        return Turn(output=json.dumps(seen), skills=skills, session_id="s", duration_ms=1)

    async def aclose(self):
        pass

class Judge:
    sessions = ()

    async def open(self, workdir, resume_id=""):
        return self

    async def ask(self, question):
        if question.tools[0].name != "set_pairwise_winner":
            return JudgeAnswer(calls=(JudgeToolCall(name="set_waza_grade_pass", args={"reason": "alone"}),))
        a = question.text.index('"off": true') < question.text.index('"off": false')
        args = {"winner": "B" if a else "A", "magnitude": "much-better", "reasoning": question.text}
        return JudgeAnswer(calls=(JudgeToolCall(name="set_pairwise_winner", args=args),))

    async def aclose(self):
        pass
"""

GREETER = "---\nname: greeter\ndescription: d\n---\nGreet.\n"
AGENT = "---\nname: helper\ndescription: d\ntools: [view]\n---\nHelp.\n"
SKILLS = ["skill_directories: [skills]"]
WITH = {"type": "text", "name": "with", "config": {"contains": ['"off": false']}}
WITHOUT = {"type": "text", "name": "without", "config": {"contains": ['"off": true']}}
ALWAYS = {"type": "text", "name": "always", "config": {"contains": ["trial"]}}
NEVER = {"type": "text", "name": "never", "config": {"contains": ["nobody says this"]}}
PAIRWISE = {
    "type": "prompt",
    "name": "better",
    "config": {"mode": "pairwise", "prompt": "Prefer the better."},
}


def even_without(trials: int) -> dict[str, Any]:
    """A grader that every trial with skills passes, and without skills only even ones up to `trials`."""
    numbers = "|".join(str(n) for n in range(2, trials + 1, 2))
    pattern = f'"off": false|"trial": ({numbers})}}'
    return {"type": "text", "name": "half", "config": {"regex_match": [pattern]}}


def task(*graders: dict[str, Any], **keys: Any) -> str:
    """A task file; JSON is YAML."""
    return json.dumps({"inputs": {"prompt": "go"}, "graders": list(graders)} | keys)


def importable(package: Path) -> dict[str, str]:
    """Environment in which a package is found as if it were installed."""
    paths = [str(package), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}


def compare(
    root: Path, tasks: dict[str, str], *flags: str, head: str = "", config: list[str] | None = None
) -> Ended:
    """Run an A/B run with the agent above."""
    package = write_tree(
        root / "package",
        {
            "seer.py": SEER,
            "seer-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: seer\nVersion: 1.0\n",
            "seer-1.0.dist-info/entry_points.txt": "[waza.executors]\nseer = seer:Seer\n",
        },
    )
    write_tree(root, {"skills/greeter/SKILL.md": GREETER, "agents/helper.agent.md": AGENT})
    suite = mock_suite(root, tasks, head=head, config=SKILLS if config is None else config)
    ended = waza(
        "run",
        suite,
        "--executor",
        "seer",
        *(flags or ("--baseline",)),
        cwd=root,
        env=importable(package),
    )
    assert ended.code in (0, 1), ended.err
    assert "Traceback" not in ended.err
    return ended


def order(root: Path) -> list[str]:
    return (root / "order.log").read_text().splitlines()


def test_the_skills_help(tmp_path: Path) -> None:
    tasks = {
        "always": task(ALWAYS),
        "gained": task(WITH),
        "half": task(even_without(4)),
        "lost": task(WITHOUT),
        "never": task(NEVER),
    }
    ended = compare(tmp_path, tasks, "--baseline", "--trials", "4")
    assert ended.code == 0  # although `never` and `lost` failed
    result = ended.results()
    below = result["baseline_outcome"]
    assert result["is_baseline"] is True
    assert "is_baseline" not in below
    assert below["eval_id"] == result["eval_id"]
    assert below["config"] == result["config"]
    assert (result["summary"]["success_rate"], below["summary"]["success_rate"]) == (0.6, 0.4)
    assert [one["test_id"] for one in below["tasks"]] == [one["test_id"] for one in result["tasks"]]
    impacts = {one["test_id"]: one["skill_impact"] for one in result["tasks"]}
    assert all("skill_impact" not in one for one in below["tasks"])
    assert impacts["gained"] == {
        "pass_rate_with_skills": 1,
        "pass_rate_baseline": 0,
        "delta": 1,
        "percent_change": 10_000,  # of 0.01 at least
    }
    assert (impacts["half"]["delta"], impacts["half"]["percent_change"]) == (0.5, 100)
    assert (impacts["always"]["delta"], impacts["always"]["percent_change"]) == (0, 0)
    assert (impacts["never"]["delta"], impacts["never"]["percent_change"]) == (0, 0)
    assert (impacts["lost"]["delta"], impacts["lost"]["percent_change"]) == (-1, -100)
    assert [ended.out.count(label) for label in ("[IMPROVED]", "[NEUTRAL]", "[REGRESSED]")] == [2, 2, 1]


@pytest.mark.parametrize(
    ("grader", "rates"),
    [(ALWAYS, (1, 1)), (NEVER, (0, 0)), (WITHOUT, (0, 1))],
)
def test_equal_or_lower_rates_are_a_failure(
    grader: dict[str, Any], rates: tuple[int, int], tmp_path: Path
) -> None:
    ended = compare(tmp_path, {"a": task(grader)})
    assert ended.code == 1
    result = ended.results()
    found = (result["summary"]["success_rate"], result["baseline_outcome"]["summary"]["success_rate"])
    assert found == rates
    impact = result["tasks"][0]["skill_impact"]
    assert impact["delta"] == rates[0] - rates[1]
    assert impact["percent_change"] == (rates[0] - rates[1]) / max(rates[1], 0.01) * 100


def test_a_metric_that_gates_fails_even_a_better_run(tmp_path: Path) -> None:
    head = "metrics: [{name: never, threshold: 0.5, gate: true}]"
    ended = compare(tmp_path, {"a": task(WITH), "b": task(NEVER)}, head=head)
    assert ended.code == 1
    result = ended.results()
    assert result["summary"]["success_rate"] > result["baseline_outcome"]["summary"]["success_rate"]
    assert result["baseline_outcome"]["metrics"] == {}


def test_the_arm_without_skills_has_no_skills_no_target_and_no_implicit_grader(tmp_path: Path) -> None:
    own = {"skill_directories": ["more"]}
    write_tree(tmp_path, {"more/x/SKILL.md": GREETER})
    ended = compare(
        tmp_path, {"a": task(ALWAYS), "b": task(ALWAYS, **own)}, head="skill: helper\nbaseline: true"
    )
    result = ended.results()
    outputs = {
        arm: {one["test_id"]: json.loads(one["runs"][0]["final_output"]) for one in tasks}
        for arm, tasks in (("main", result["tasks"]), ("baseline", result["baseline_outcome"]["tasks"]))
    }
    plain: dict[str, Any] = {"trial": 1, "target": None, "off": True, "skills": []}
    assert outputs["baseline"] == {"a": plain, "b": plain}
    full = {"trial": 1, "target": "helper", "off": False}
    assert outputs["main"] == {"a": {**full, "skills": ["skills"]}, "b": {**full, "skills": ["more"]}}
    for one in result["tasks"]:
        assert list(one["runs"][0]["validations"]) == ["allowed_tools", "always"]
    for one in result["baseline_outcome"]["tasks"]:
        assert list(one["runs"][0]["validations"]) == ["always"]
        assert one["runs"][0].get("skill_invocations") is None


def test_graders_that_need_skills_are_asked_without_them_only_where_there_is_no_other(tmp_path: Path) -> None:
    only = WITH | {"only_with_skills": True}
    result = compare(tmp_path, {"both": task(ALWAYS, only), "one": task(only)}).results()
    below = result["baseline_outcome"]
    seen = [
        {one["test_id"]: list(one["runs"][0]["validations"]) for one in arm["tasks"]}
        for arm in (result, below)
    ]
    assert seen == [{"both": ["always", "with"], "one": ["with"]}, {"both": ["always"], "one": ["with"]}]
    assert [one["status"] for one in below["tasks"]] == ["passed", "failed"]


def test_the_arm_with_skills_runs_first_where_nothing_is_compared(tmp_path: Path) -> None:
    compare(tmp_path, {"a": task(ALWAYS), "b": task(ALWAYS)}, "--baseline", "--trials", "2")
    keys = ["a 1", "a 2", "b 1", "b 2"]
    assert order(tmp_path) == [f"{arm} {key}" for arm in ("main", "baseline") for key in keys]


def test_pairwise_graders_compare_with_the_same_trial_of_the_arm_before(tmp_path: Path) -> None:
    tasks = {"a": task(PAIRWISE, ALWAYS), "b": task(ALWAYS)}
    ended = compare(tmp_path, tasks, "--baseline", "--trials", "2")
    keys = ["a 1", "a 2", "b 1", "b 2"]
    assert order(tmp_path) == [f"{arm} {key}" for arm in ("baseline", "main") for key in keys]
    result = ended.results()
    below = result["baseline_outcome"]["tasks"][0]
    assert [list(run["validations"]) for run in below["runs"]] == [["always"], ["always"]]
    for run in result["tasks"][0]["runs"]:
        found = run["validations"]["better"]
        assert (found["score"], found["passed"]) == (1, True)
        asked = found["details"]["pass1"]["reasoning"]
        first, second = asked.index('"off": true'), asked.index('"off": false')
        assert first < second  # A is the answer without skills
        trial = f'"trial": {run["run_number"]}}}'
        assert asked.count(trial) == 2
        swapped = found["details"]["pass2"]["reasoning"]
        assert swapped.index('"off": false') < swapped.index('"off": true')
    impact = result["tasks"][0]["skill_impact"]["pairwise"]
    assert (impact["winner"], impact["magnitude"], impact["position_consistent"]) == (
        "skill",
        "much-better",
        True,
    )
    assert "pairwise" not in result["tasks"][1]["skill_impact"]
    assert ended.code == 1  # equal pass rates, whoever won


def test_pairwise_graders_judge_alone_outside_of_a_b_runs(tmp_path: Path) -> None:
    head = f"graders: {json.dumps([PAIRWISE])}"
    ended = compare(tmp_path, {"a": task()}, "--trials", "1", head=head)
    assert ended.code == 0
    found = ended.results()["tasks"][0]["runs"][0]["validations"]["better"]
    assert (found["passed"], "pairwise" in found["details"]) == (True, False)
    assert found["details"]["passes"] == "alone"
    assert "without --baseline they judge the output alone" in ended.err


def test_a_pairwise_grader_of_a_task_warns_outside_of_a_b_runs_too(tmp_path: Path) -> None:
    ended = compare(tmp_path, {"a": task(PAIRWISE)}, "--trials", "1")
    assert ended.code == 0
    assert "without --baseline they judge the output alone" in ended.err


def test_skill_invocations_do_not_count_for_the_status_of_either_arm(tmp_path: Path) -> None:
    wrong = {
        "type": "skill_invocation",
        "name": "s",
        "config": {"required_skills": ["x"], "mode": "any_order"},
    }
    right = {
        "type": "skill_invocation",
        "name": "s",
        "config": {"required_skills": ["greeter"], "mode": "any_order"},
    }
    expected = {"expected": {"should_trigger": True}}
    tasks = {"wrong": task(wrong, ALWAYS), "right": task(right, ALWAYS, **expected)}
    head, config = "skill: greeter", [*SKILLS, "inject_skill_body: false"]
    ended = compare(tmp_path / "ab", tasks, head=head, config=config)
    result = ended.results()
    below = result["baseline_outcome"]
    assert [one["status"] for one in result["tasks"]] == ["passed", "passed"]
    assert [one["status"] for one in below["tasks"]] == ["passed", "passed"]
    run = below["tasks"][0]["runs"][0]["validations"]
    assert {name: one["passed"] for name, one in run.items()} == {
        "_should_trigger": False,
        "always": True,
        "s": False,
    }
    # They are recorded, and count for the score.
    assert below["tasks"][0]["stats"]["avg_score"] == pytest.approx(1 / 3, rel=0, abs=1e-9)
    assert ended.code == 1
    # In an ordinary run they do count.
    plain = compare(tmp_path / "plain", tasks, "--trials", "1", head=head, config=config).results()
    assert [one["status"] for one in plain["tasks"]] == ["passed", "failed"]


@pytest.mark.parametrize(
    ("flags", "config", "words"),
    [
        (("--baseline",), [], "needs a skill, config.skill_directories"),
        (("--baseline", "--no-skills"), SKILLS, "all skills are off"),
        (("--baseline",), [*SKILLS, "disabled_skills: ['*']"], "all skills are off"),
    ],
)
def test_without_skills_there_is_one_ordinary_run_and_a_warning(
    flags: tuple[str, ...], config: list[str], words: str, tmp_path: Path
) -> None:
    ended = compare(tmp_path, {"a": task(ALWAYS)}, *flags, config=config)
    assert ended.code == 0
    assert words in ended.err
    result = ended.results()
    assert "is_baseline" not in result
    assert "baseline_outcome" not in result
    assert "skill_impact" not in result["tasks"][0]
    assert order(tmp_path) == ["main a 1"]


def test_fail_fast_stops_an_arm_and_not_the_other(tmp_path: Path) -> None:
    tasks = {"a": task(WITH, PAIRWISE), "b": task(ALWAYS), "c": task(ALWAYS)}
    ended = compare(tmp_path, tasks, config=[*SKILLS, "fail_fast: true"])
    assert order(tmp_path) == ["baseline a 1", "main a 1", "main b 1", "main c 1"]
    below = ended.results()["baseline_outcome"]
    assert [one["status"] for one in below["tasks"]] == ["failed", "skipped", "skipped"]
    assert below["summary"]["total_tests"] == 1
    # What ran in one arm only has nothing to compare with.
    assert ["skill_impact" in one for one in ended.results()["tasks"]] == [True, False, False]


HOOKS = "hooks: {before_run: [{command: echo before >> hooks.log}], after_run: [{command: echo after >> hooks.log}]}"


def test_hooks_run_for_each_arm_and_trigger_tests_once(tmp_path: Path) -> None:
    write_tree(
        tmp_path, {"trigger_tests.yaml": "skill: greeter\nshould_trigger_prompts: [{prompt: hello}]\n"}
    )
    ended = compare(tmp_path, {"a": task(ALWAYS)}, head=HOOKS)
    assert (tmp_path / "hooks.log").read_text().split() == ["before", "after", "before", "after"]
    result = ended.results()
    assert result["trigger_metrics"]["true_positives"] == 1
    assert "trigger_metrics" not in result["baseline_outcome"]
    assert order(tmp_path) == ["main a 1", "baseline a 1", "main trigger 1"]


def test_a_broken_off_comparison_is_gone_on_with(tmp_path: Path) -> None:
    tasks = {name: task(PAIRWISE, even_without(3)) for name in ("a", "b")}
    flags = ("--baseline", "--trials", "3")
    whole = compare(tmp_path, tasks, *flags).results()
    journal = next((tmp_path / ".waza" / "runs").glob("*/journal.ndjson"))
    lines = journal.read_bytes().splitlines(keepends=True)
    assert len(lines) == 2 + 12 + 1  # the header, what graders read, the trials, the end
    journal.write_bytes(b"".join(lines[:9]))  # the arm without skills is done, and one trial with them
    (tmp_path / "order.log").unlink()
    again = compare(tmp_path, tasks, *flags, "--resume").results()
    assert order(tmp_path) == [f"main {key}" for key in ("a 2", "a 3", "b 1", "b 2", "b 3")]

    def told(result: dict[str, Any]) -> list[Any]:
        arms = (result["tasks"], result["baseline_outcome"]["tasks"])
        return [[(one["stats"]["pass_rate"], one.get("skill_impact")) for one in arm] for arm in arms]

    assert told(again) == told(whole)
    assert [one["skill_impact"]["pairwise"]["winner"] for one in again["tasks"]] == ["skill", "skill"]


def test_errors_of_either_arm_are_no_measurement(tmp_path: Path) -> None:
    ended = compare(tmp_path, {"a": task(ALWAYS, inputs={"prompt": "break"}), "b": task(ALWAYS)})
    assert ended.code == 1
    result = ended.results()
    why = (
        "gate baseline: not compared: with skills 1 passed, 1 errored of 2 tasks;"
        " without skills 1 passed, 1 errored of 2 tasks"
    )
    failed = "1 of 2 tasks did not pass: 1 errored"
    assert result["metadata"]["verdict"] == {"passed": False, "reasons": [failed, why]}
    assert "skill_impact" not in result["tasks"][0]
    assert "Not compared: not every task has a verdict in both passes: " in " ".join(ended.out.split())
    assert "a, without skills: error: " in ended.out
    assert not [word for word in ("Delta", "Verdict:", " pp") if word in ended.out.split("SKILL IMPACT")[1]]


def test_arms_that_ran_other_tasks_are_not_compared(tmp_path: Path) -> None:
    ended = compare(tmp_path, {"a": task(WITH), "b": task(ALWAYS)}, config=[*SKILLS, "fail_fast: true"])
    assert ended.code == 1
    (why,) = ended.results()["metadata"]["verdict"]["reasons"]
    assert why == (
        "gate baseline: not compared: with skills 2 passed of 2 tasks; without skills 1 failed, 1 cut off of 2 tasks"
    )
