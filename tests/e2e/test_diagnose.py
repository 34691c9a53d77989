"""`waza diagnose`: one scripted agent for each verdict, from `waza run --baseline` to the diagnosis."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, mock_suite, strict_json, waza, write_tree

# An agent that does what the prompt says, an object of JSON for each arm: whether the answer is right, whether it
# invokes the skill, how many tokens it used, and how it was offered the skill (nothing: nobody saw it).
AGENT = """
import json
from waza.model.capabilities import Capabilities
from waza.model.observation import OfferedSkill, SkillInvocation, SkillsOffered, Turn, Usage

class Puppet:
    capabilities = Capabilities(skills=True, tool_calls=True, tool_policy=True, usage=True)

    def __init__(self, setup):
        pass

    async def start(self):
        pass

    def works_in(self, task):
        return False

    async def open(self, attempt, place):
        return Session(attempt)

    def judge(self, attempt):
        return None

    async def aclose(self):
        pass

def used(tokens):
    none = dict.fromkeys(["output_tokens", "cache_read_tokens", "cache_write_tokens", "premium_requests"], 0)
    return Usage(turns=1, input_tokens=tokens, **none)

class Session:
    def __init__(self, attempt):
        self.attempt = attempt

    async def send(self, prompt, limits):
        task, trial = self.attempt.task, self.attempt.trial
        do = json.loads(prompt)["without" if task.no_skills else "with"]
        if do.get("error"):
            return Turn(error="it broke", session_id="s", duration_ms=1)
        right = do["right"] if isinstance(do["right"], bool) else trial.number in do["right"]
        offered = None
        if "offered" in do:
            skills = [OfferedSkill(name=name, form=form, path=path) for name, form, path in do["offered"]]
            offered = SkillsOffered(skills=tuple(skills))
        return Turn(
            output="right" if right else "wrong",
            skills=(SkillInvocation(name="greeter"),) if do.get("invoke") else (),
            skills_offered=offered,
            usage=used(do["tokens"]) if "tokens" in do else None,
            session_id="s",
            duration_ms=1,
        )

    async def aclose(self):
        pass
"""
GREETER = "---\nname: greeter\ndescription: d\n---\nGreet.\n"
HEAD = 'skill: greeter\ngraders: [{type: text, name: right, config: {contains: ["right"]}}]'
CONFIG = ["skill_directories: [skills]", "inject_skill_body: false"]
FULL = [["greeter", "full", ""]]
HELPED = {
    "with": {"right": True, "invoke": True, "offered": FULL},
    "without": {"right": False, "offered": []},
}


def acting(with_skill: dict[str, Any], without: dict[str, Any]) -> dict[str, Any]:
    """What the agent does: as if it were helped, but for this."""
    return {"with": HELPED["with"] | with_skill, "without": HELPED["without"] | without}


def run(root: Path, tasks: list[dict[str, Any]], *flags: str) -> Ended:
    """Run a suite of these tasks with and without its skill, and return how that ended."""
    write_tree(
        root / "package",
        {
            "puppet.py": AGENT,
            "puppet-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: puppet\nVersion: 1.0\n",
            "puppet-1.0.dist-info/entry_points.txt": "[waza.executors]\npuppet = puppet:Puppet\n",
        },
    )
    write_tree(root, {"skills/greeter/SKILL.md": GREETER})
    files = {f"t{i}": json.dumps({"inputs": {"prompt": json.dumps(one)}}) for i, one in enumerate(tasks)}
    suite = mock_suite(root, files, head=HEAD, config=CONFIG)
    ended = waza(
        "run", suite, "--executor", "puppet", *(flags or ("--baseline",)), cwd=root, env=importable(root)
    )
    assert ended.code in (0, 1), ended.err
    return ended


def importable(root: Path) -> dict[str, str]:
    """Environment in which the agent is found as if it were installed."""
    paths = [str(root / "package"), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def diagnose(root: Path, *arguments: str) -> dict[str, Any]:
    """Return the only diagnosis."""
    ended = waza("diagnose", *arguments, "--json", cwd=root)
    assert ended.code == 0, ended.err
    (found,) = strict_json(ended.out)["skills"]
    assert (found["skill"], found["suite"], found["model"]) == ("greeter", "suite", "test-model")
    assert set(found) >= {"verdict", "why", "next"}
    return dict(found)


def test_keep(tmp_path: Path) -> None:
    tasks = [
        acting({"tokens": 3000, "invoke": i > 0, "right": i > 0}, {"tokens": 1000, "right": False})
        for i in range(8)
    ]
    run(tmp_path, tasks)
    found = diagnose(tmp_path)
    assert found["verdict"] == "keep"
    assert "waza gate --baseline run-" in found["next"]
    assert (found["tasks"], found["trials_with_skill"], found["trials_without_skill"]) == (8, 8, 8)
    assert (found["lift"]["value"], found["lift"]["unit"]) == (87.5, "percentage points")
    assert found["lift"]["lower"] < 87.5 < found["lift"]["upper"]
    assert found["p_value"] == 2 / 2**7
    rate = found["invocation_rate"]
    assert (rate["value"], rate["unit"]) == (87.5, "percent")
    # Wilson's interval of 7 of 8, computed by hand: (0.5291, 0.9776).
    assert [round(rate["lower"], 1), round(rate["upper"], 1)] == [52.9, 97.8]
    effect = found["effect_when_invoked"]
    assert (effect["value"], effect["unit"]) == (100, "percentage points")
    assert effect["lower"] <= 100 <= effect["upper"]
    assert "not invoked ended as they would have without it" in found["assumption"]
    assert (found["extra_tokens"]["value"], found["extra_tokens"]["unit"]) == (2000, "tokens a trial")
    assert found["tokens_per_point"]["value"] == pytest.approx(2000 / 87.5, rel=0, abs=1e-9)
    assert found["tokens_per_point"]["unit"] == "tokens a trial per percentage point"
    assert found["offered"] == {"full": 8, "name": 0, "absent": 0, "unknown": 0}
    assert found["notes"] == []

    shown = waza("diagnose", cwd=tmp_path)
    text = " ".join(shown.out.split())
    assert "Skill Verdict Lift Invoked When invoked Tokens/point" in text
    assert "greeter on test-model keep +87.5 88% +100.0 23" in text
    assert "Extra tokens: +2,000 tokens a trial (95 % interval +2,000 to +2,000)" in text
    assert "next: keep it; hold later runs to this one: waza gate" in text
    dear = diagnose(tmp_path, "--max-tokens-per-point", "20")
    assert dear["verdict"] == "too-dear"
    assert "23 tokens a trial for each point, above 20" in dear["why"]


def test_too_dear(tmp_path: Path) -> None:
    run(tmp_path, [acting({"tokens": 600_000}, {"tokens": 1000})] * 6)
    found = diagnose(tmp_path)
    assert (found["verdict"], found["lift"]["value"]) == ("too-dear", 100)
    assert found["tokens_per_point"]["value"] == 5990
    assert found["next"].endswith("waza tokens suggest greeter")
    assert diagnose(tmp_path, "--max-tokens-per-point", "6000")["verdict"] == "keep"


def test_harmful(tmp_path: Path) -> None:
    run(tmp_path, [acting({"right": i == 7}, {"right": True}) for i in range(8)])
    found = diagnose(tmp_path)
    assert (found["verdict"], found["lift"]["value"]) == ("harmful", -87.5)
    assert "tokens_per_point" not in found or found["tokens_per_point"] is None
    assert any("tokens are not known" in note for note in found["notes"])
    assert "'t0'" in found["next"]
    (command,) = (one for one in found["next"].split(": ") if one.endswith("; without it"))
    shown = waza(*shlex.split(command.removesuffix("; without it"))[1:], cwd=tmp_path)
    assert (shown.code, "wrong" in shown.out) == (0, True)


def test_no_effect_takes_enough_pairs_that_end_alike(tmp_path: Path) -> None:
    tasks = [acting({"right": True}, {"right": True})] * 7
    run(tmp_path / "enough", tasks, "--baseline", "--trials", "5")
    found = diagnose(tmp_path / "enough")
    assert (found["verdict"], found["lift"]) == (
        "no-effect",
        {"value": 0, "unit": "percentage points", "lower": 0, "upper": 0},
    )
    assert "the tasks pass without it: write tasks that need the skill" in found["next"]
    # Within 5 points it takes 59 pairs, which is 9 trials of each of 7 tasks.
    closer = diagnose(tmp_path / "enough", "--margin", "5")
    assert (closer["verdict"], closer["needed"]) == ("cannot-measure", {"tasks": 7, "trials": 9})
    assert closer["next"].endswith("--baseline --trials 9")

    run(tmp_path / "few", tasks, "--baseline", "--trials", "4")
    found = diagnose(tmp_path / "few")
    assert (found["verdict"], found["needed"]) == ("cannot-measure", {"tasks": 7, "trials": 5})


def test_no_effect_on_tasks_that_fail(tmp_path: Path) -> None:
    run(tmp_path, [acting({"right": False}, {})] * 6, "--baseline", "--trials", "5")
    found = diagnose(tmp_path)
    assert found["verdict"] == "no-effect"
    assert "change what the skill says, or remove it; where it did not help: waza show run-" in found["next"]


def test_not_invoked(tmp_path: Path) -> None:
    run(tmp_path, [acting({"invoke": False}, {"right": True})] * 4)
    found = diagnose(tmp_path)
    assert (found["verdict"], found["invocation_rate"]["value"]) == ("not-invoked", 0)
    assert "in 0 of 4 trials (95 % interval up to 49.0%)" in found["why"]
    assert found["next"].endswith("waza dev greeter --tune")
    assert found["effect_when_invoked"] is None


def test_three_trials_do_not_show_that_a_skill_is_not_invoked(tmp_path: Path) -> None:
    run(tmp_path, [acting({"invoke": False}, {"right": True})] * 3)
    found = diagnose(tmp_path)
    assert (found["verdict"], round(found["invocation_rate"]["upper"])) == ("cannot-measure", 56)


def test_a_lift_without_any_invocation_has_another_cause(tmp_path: Path) -> None:
    run(tmp_path, [acting({"invoke": False}, {})] * 6)
    found = diagnose(tmp_path)
    assert found["verdict"] == "not-invoked"
    assert "the lift of +100 points has another cause" in found["why"]


@pytest.mark.parametrize(
    ("offered", "words"),
    [
        (
            [["greeter", "name", ""]],
            "in 1 of 6 trials with skills the agent was offered the skill greeter by its name alone, so the lift is not",
        ),
        (
            [],
            "in 1 of 6 trials with skills the agent was not offered the skill greeter, so the lift is not measured",
        ),
        (
            [["greeter", "full", "/home/someone/greeter/SKILL.md"]],
            "(another skill of its name was in its place)",
        ),
    ],
)
def test_not_offered(offered: list[list[str]], words: str, tmp_path: Path) -> None:
    run(tmp_path, [acting({"offered": offered} if i == 0 else {}, {}) for i in range(6)])
    found = diagnose(tmp_path)
    assert found["verdict"] == "not-offered"
    assert words in found["why"]
    assert (found["lift"], found["p_value"], found["effect_when_invoked"]) == (None, None, None)
    assert (found["offered"]["full"], found["offered"]["name"] + found["offered"]["absent"]) == (5, 1)


def test_an_arm_without_skills_that_had_the_skill_measures_nothing(tmp_path: Path) -> None:
    run(tmp_path, [acting({}, {"offered": [["greeter", "name", ""]]})] * 6)
    found = diagnose(tmp_path)
    assert (found["verdict"], found["lift"]) == ("cannot-measure", None)
    assert "in 6 of 6 trials without skills the agent was offered the skill greeter" in found["why"]


def test_what_nobody_saw_is_neither_offered_nor_absent(tmp_path: Path) -> None:
    tasks = [{arm: {k: v for k, v in did.items() if k != "offered"} for arm, did in HELPED.items()}] * 6
    run(tmp_path, tasks)
    found = diagnose(tmp_path)
    assert (found["verdict"], found["lift"]["value"]) == ("keep", 100)
    assert found["offered"] == {"full": 0, "name": 0, "absent": 0, "unknown": 6}
    notes = " | ".join(found["notes"])
    assert "it is not known whether the agent was offered the skill greeter, in 12 of 12 trials" in notes


def test_without_a_baseline_nothing_can_be_measured(tmp_path: Path) -> None:
    run(tmp_path, [HELPED], "--trials", "1")
    found = diagnose(tmp_path)
    assert found["verdict"] == "cannot-measure"
    assert found["next"] == "waza run eval.yaml --executor puppet --model test-model --baseline"
    assert (found["lift"], found["tasks"]) == (None, 0)


def test_five_tasks_are_too_few_to_show_a_lift(tmp_path: Path) -> None:
    run(tmp_path, [HELPED] * 5)
    found = diagnose(tmp_path)
    assert found["verdict"] == "cannot-measure"
    assert "fewer than 6 tasks that change independently" in found["why"]
    assert found["next"].startswith("add 1 task to the suite, then: waza run ")


def test_arms_without_a_common_measure(tmp_path: Path) -> None:
    run(
        tmp_path,
        [HELPED, {"with": {"error": True}, "without": {"right": True}}, HELPED],
        "--baseline",
        "-t",
        "t[01]",
    )
    found = diagnose(tmp_path)
    assert found["verdict"] == "cannot-measure"
    assert "with skills 1 passed, 1 errored of 2 tasks" in found["why"]
    program, *words = shlex.split(found["next"])
    assert (program, words[-3:]) == ("waza", ["--retry-errors", "--task", "t[01]"])
    again = waza(*words, cwd=tmp_path, env=importable(tmp_path))
    assert (again.code, again.results()["eval_id"]) == (1, found["run"])


def test_trials_that_differ_say_how_many_more_are_needed(tmp_path: Path) -> None:
    tasks = [acting({"right": [1, 2]}, {"right": [i % 3 + 1, 3]}) for i in range(6)]
    run(tmp_path, tasks, "--baseline", "--trials", "3")
    found = diagnose(tmp_path)
    assert found["verdict"] == "cannot-measure"
    # Trials of a task vary by 1/3 or 0; more of them lower what can be detected, and a wider margin needs fewer.
    assert found["needed"]["tasks"] == 6
    assert found["needed"]["trials"] > 3
    assert found["next"].endswith(f"--baseline --trials {found['needed']['trials']}")
    assert diagnose(tmp_path, "--margin", "20")["needed"]["trials"] < found["needed"]["trials"]


def test_an_effect_without_an_interval_says_so(tmp_path: Path) -> None:
    run(tmp_path, [acting({"invoke": i == 0, "right": i == 0}, {}) for i in range(3)])
    found = diagnose(tmp_path)
    assert (found["effect_when_invoked"]["value"], found["effect_when_invoked"]["lower"]) == (100, None)
    assert any("the effect when invoked has no interval" in note for note in found["notes"])


def test_a_repository_in_one_table(tmp_path: Path) -> None:
    run(tmp_path, [HELPED] * 6)
    first = tmp_path.joinpath("first.json")
    run(tmp_path, [HELPED] * 6, "--baseline", "-o", str(first))
    run(tmp_path, [HELPED], "--trials", "1")  # newer, and without a baseline
    ended = waza("diagnose", ".waza/runs", "--format", "markdown", cwd=tmp_path)
    assert ended.code == 0
    assert "2 runs left out: of each suite on an executor and a model one run counts" in ended.err
    assert ended.out.count("| keep |") == 1
    failing = waza(
        "diagnose", ".waza/runs", "first.json", "--fail-on", "harmful", "--fail-on", "keep", cwd=tmp_path
    )
    assert (failing.code, failing.out.count("keep:")) == (1, 1)
    assert waza("diagnose", "first.json", "--fail-on", "harmful", cwd=tmp_path).code == 0


def test_a_run_on_the_mock_neither_hides_one_of_an_agent_nor_passes_for_one(tmp_path: Path) -> None:
    run(tmp_path, [HELPED] * 6, "--baseline", "-o", str(tmp_path / "agent.json"))
    results = strict_json((tmp_path / "agent.json").read_bytes())
    for one in (results, results["baseline_outcome"]):
        one["config"]["engine_type"] = "mock"
        one["timestamp"] = "2999-01-31T12:00:00Z"
    (tmp_path / "mock.json").write_text(json.dumps(results), encoding="utf-8")
    ended = waza("diagnose", "agent.json", "mock.json", "--json", cwd=tmp_path)
    of_agent, of_mock = strict_json(ended.out)["skills"]
    assert (of_agent["executor"], of_mock["executor"], ended.err) == ("puppet", "mock", "")
    assert of_mock["notes"][1:] == of_agent["notes"]
    assert of_mock["notes"][0].startswith("the agent was the mock, which follows a script")
    shown = waza("diagnose", "agent.json", "mock.json", cwd=tmp_path).out
    assert "greeter on test-model (puppet)" in shown
    assert "greeter on test-model (mock)" in shown


def test_other_skills_say_nothing_of_the_skill_under_test(tmp_path: Path) -> None:
    both = [*FULL, ["notes", "full", ""]]
    run(tmp_path, [acting({"offered": both}, {})] * 6, "--baseline", "-o", str(tmp_path / "results.json"))
    assert diagnose(tmp_path, "results.json")["offered"]["full"] == 6
    results = strict_json((tmp_path / "results.json").read_bytes())
    for task in results["tasks"]:
        task["runs"][0].pop("skill_offered")
    (tmp_path / "results.json").write_text(json.dumps(results), encoding="utf-8")
    found = diagnose(tmp_path, "results.json")
    assert (found["offered"]["full"], found["offered"]["unknown"]) == (0, 6)
    assert any(
        "it is not known whether the agent was offered the skill greeter" in one for one in found["notes"]
    )


def test_what_cannot_be_used(tmp_path: Path) -> None:
    for arguments in (["nothing.json"], ["--margin", "0"], ["--fail-on", "bad"]):
        ended = waza("diagnose", *arguments, cwd=tmp_path)
        assert (ended.code, ended.out) == (2, "")


def test_figures_of_a_script_are_called_so(tmp_path: Path) -> None:
    write_tree(tmp_path, {"skills/greeter/SKILL.md": GREETER})
    script = "mock: {output: right, skills: [greeter], skills_offered: [greeter], without_skills: {output: no, skills: [], skills_offered: []}}"
    tasks = {f"t{i}": f"inputs: {{prompt: Greet.}}\n{script}\n" for i in range(6)}
    suite = mock_suite(tmp_path, tasks, head=HEAD, config=CONFIG)
    assert waza("run", suite, "--baseline", cwd=tmp_path).code == 0
    found = diagnose(tmp_path)
    assert found["verdict"] == "keep"
    assert (
        found["notes"][0]
        == "the agent was the mock, which follows a script: the figures are those of the script"
    )
