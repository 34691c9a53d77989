"""Judges and the result cache: the agent's answer is taken from it, the verdict is taken anew."""

from __future__ import annotations

import json
import os
import stat
from typing import Any

import pytest
from tests.support.live import Project
from tests.support.program import Ended, mock_suite, newest_results, write_tree

GRADER = "{type: prompt, name: j, config: {prompt: Is it good?}}"
LONG = "{type: text, name: said, config: {contains: [answer]}}"

# An agent that counts its trials, and a judge that reads what they left: a word in a file, held against $WANTED.
BOT = """
import os
from waza.executors.mock import MockExecutor
from waza.model.agent import JudgeAnswer, JudgeSession, JudgeToolCall
from waza.model.capabilities import Capabilities
from waza.model.observation import ModelUsage, Usage

class Interview:
    def __init__(self, judge, workdir): self.judge, self.workdir = judge, workdir
    async def ask(self, question):
        found = sorted(str(p.relative_to(self.workdir)) for p in self.workdir.rglob("*"))
        word = (self.workdir / "out/link.txt").read_text()
        one = ModelUsage(input_tokens=1, output_tokens=1, cache_read_tokens=0, cache_write_tokens=0,
                         request_count=1, request_cost=0)
        usage = Usage(turns=1, input_tokens=1, output_tokens=1, cache_read_tokens=0, cache_write_tokens=0,
                      premium_requests=0, model_metrics={"judge": one})
        self.judge.sessions.append(JudgeSession(session_id=os.environ["SITTING"], usage=usage))
        if os.environ["WANTED"] == "crash": raise KeyError("wanted")
        name = "pass" if word == os.environ["WANTED"] else "fail"
        mode = oct((self.workdir / "out/word.txt").stat().st_mode & 0o777)
        return JudgeAnswer(calls=(JudgeToolCall(name=f"set_waza_grade_{name}", args={"reason": f"{found} {word} {mode}"}),))
    async def aclose(self): pass

class Judge:
    def __init__(self): self.sessions = []
    async def open(self, workdir, resume_id=""): return Interview(self, workdir)

class Bot(MockExecutor):
    capabilities = Capabilities(judge=True, repeatable=True, scripted=True, tool_calls=True)
    async def open(self, attempt, place):
        with open(os.environ["RAN"], "a") as file: file.write("x")
        (place.workspace / "out").mkdir()
        (place.workspace / "out/word.txt").write_text("blue")
        (place.workspace / "out/word.txt").chmod(0o750)
        (place.workspace / "out/link.txt").symlink_to(place.workspace / "out/word.txt")
        if "BIG" in os.environ: (place.workspace / "big").write_bytes(bytes(20_000_001))
        return await super().open(attempt, place)
    def works_in(self, task): return True
    def judge(self, attempt): return Judge()
"""


def run(project: Project, *args: str, **env: str) -> Ended:
    ended = project.run("run", "eval.yaml", "--cache", *args, env=env)
    assert "Traceback" not in ended.err
    return ended


def task_of(project: Project, name: str = "t") -> dict[str, Any]:
    tasks = {one["test_id"]: one for one in newest_results(project.home)["tasks"]}
    found: dict[str, Any] = tasks[name]
    return found


def sessions(project: Project, name: str = "t") -> list[str]:
    """The sessions of the agent, which a new trial has a new one of."""
    return [one["session_digest"]["session_id"] for one in task_of(project, name)["runs"]]


def scripted(
    project: Project, judge: str, graders: str = f"{GRADER}, {LONG}", mock: str = "", *config: str
) -> None:
    mock = mock or "output: 'answer {{.Timestamp}}'"
    text = f"inputs: {{prompt: p}}\nmock: {{{mock}, judge: {judge}}}"
    mock_suite(project.home, {"t": text}, f"graders: [{graders}]", config)


def test_the_verdict_is_taken_again_and_the_agent_is_not_run_again(project: Project) -> None:
    scripted(project, "{j: [{pass: fine}]}")
    first = run(project)
    assert first.code == 0, first.err
    assert "[cached]" not in first.err
    agents, answer = sessions(project), task_of(project)["runs"][0]["final_output"]
    scripted(project, "{j: [{pass: fine}, {fail: too short}]}")
    second = run(project)
    assert second.code == 1
    assert "[1/1] t [cached] [judged again]" in second.err
    task = task_of(project)
    (again,) = task["runs"]
    assert (task["cached"], task["judged_anew"], task["status"]) == (True, True, "failed")
    assert (sessions(project), again["final_output"]) == (agents, answer)
    assert {name: said["score"] for name, said in again["validations"].items()} == {"j": 0.5, "said": 1}
    assert again["failure_artifacts"]["failed_graders"] == ["j"]
    assert "failed, cached, judged again" in second.out
    scripted(project, "{j: [{pass: fine again}]}")
    third = run(project)
    assert (third.code, sessions(project)) == (0, agents), "the failed verdict was not kept"
    assert "failure_artifacts" not in task_of(project)["runs"][0]


def test_an_evaluator_that_asks_a_judge_is_asked_again(project: Project) -> None:
    grader = "{type: evaluator, name: g, config: {name: Relevance}}"
    agents = []
    for score, code in ((5, 0), (1, 1)):
        said = json.dumps(json.dumps({"score": score, "reason": "r"}))
        scripted(project, f"{{g: [{{reply: {said}}}]}}", f"{grader}, {LONG}")
        ended = run(project)
        details = task_of(project)["runs"][0]["validations"]["g"]["details"]
        assert (ended.code, details.get("raw_score")) == (code, score), ended.out
        agents += sessions(project)
    assert task_of(project)["judged_anew"] is True
    assert len(set(agents)) == 1


@pytest.mark.parametrize("changed", ["contains: [other]", "contains: [answer, more]"])
def test_other_graders_than_judges_are_part_of_the_key(project: Project, changed: str) -> None:
    scripted(project, "{j: [{pass: fine}]}")
    run(project)
    scripted(project, "{j: [{pass: fine}]}", f"{GRADER}, {LONG.replace('contains: [answer]', changed)}")
    assert run(project).code == 1
    assert "cached" not in task_of(project)


def test_what_the_judge_is_asked_may_change_and_graders_may_come_and_go(project: Project) -> None:
    scripted(project, "{j: [{pass: fine}], k: [{fail: no}]}")
    run(project)
    agents = sessions(project)
    scripted(
        project, "{k: [{fail: no}]}", f"{GRADER.replace('name: j', 'name: k').replace('good', 'bad')}, {LONG}"
    )
    assert run(project).code == 1
    assert sessions(project) == agents
    assert sorted(task_of(project)["runs"][0]["validations"]) == ["k", "said"]


def test_an_entry_without_judges_is_not_taken_for_one_with_them(project: Project) -> None:
    scripted(project, "{j: [{pass: fine}]}", LONG)
    run(project)
    scripted(project, "{j: [{fail: no}]}")
    assert run(project).code == 1
    assert "cached" not in task_of(project)


def test_a_judge_that_breaks_makes_the_run_an_error_and_the_answer_stays(project: Project) -> None:
    scripted(project, "{j: [{pass: fine}]}")
    run(project)
    agents = sessions(project)
    scripted(project, "{j: [{error: overloaded}]}")
    broken = run(project)
    assert broken.code == 1
    assert task_of(project)["status"] == "error"
    assert "overloaded" in task_of(project)["runs"][0]["error_msg"]
    assert "overloaded" in broken.err
    scripted(project, "{j: [{pass: fine}]}")
    assert run(project).code == 0
    assert sessions(project) == agents


def test_every_trial_gets_its_own_verdict_and_a_failed_one_starts_no_attempt(project: Project) -> None:
    answers = "executions: [{output: answer 1}, {output: answer 2}, {output: answer 3}, {output: answer 4}]"
    scripted(
        project, "{j: [{pass: fine}]}", f"{GRADER}, {LONG}", answers, "trials_per_task: 2", "max_attempts: 2"
    )
    assert run(project).code == 0
    outputs = [one["final_output"] for one in task_of(project)["runs"]]
    assert outputs == ["answer 1", "answer 3"]
    scripted(
        project, "{j: [{fail: no}]}", f"{GRADER}, {LONG}", answers, "trials_per_task: 2", "max_attempts: 2"
    )
    assert run(project, "--parallel").code == 1
    runs = task_of(project)["runs"]
    assert [(one["final_output"], one["status"], one["attempts"]) for one in runs] == [
        ("answer 1", "failed", 1),
        ("answer 3", "failed", 1),
    ]


@pytest.fixture
def bot(project: Project) -> Project:
    """A project with the agent above, and a suite that is judged."""
    entry = "[waza.executors]\nbot = bot:Bot\n"
    meta = "Metadata-Version: 2.1\nName: bot\nVersion: 1.0\n"
    package = project.home.parent / "package"
    files = {"bot.py": BOT, "bot-1.0.dist-info/METADATA": meta, "bot-1.0.dist-info/entry_points.txt": entry}
    write_tree(package, files)
    scripted(project, "{}")
    return project


def ask(project: Project, wanted: str, *args: str, **env: str) -> Ended:
    paths = [str(project.home.parent / "package"), os.environ.get("PYTHONPATH", "")]
    own = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "RAN": str(project.home / "ran.txt")}
    return run(project, "--executor", "bot", *args, **own, WANTED=wanted, **{"SITTING": "one", **env})


def ran(project: Project) -> int:
    return len((project.home / "ran.txt").read_text())


def test_a_judge_finds_the_workspace_as_the_agent_left_it(bot: Project) -> None:
    live = ask(bot, "blue")
    assert live.code == 0, live.out
    feedback = task_of(bot)["runs"][0]["validations"]["j"]["details"]["passes"]
    assert "['out', 'out/link.txt', 'out/word.txt'] blue 0o750" in feedback
    again = ask(bot, "blue", SITTING="two")
    assert again.code == 0, again.out
    assert task_of(bot)["runs"][0]["validations"]["j"]["details"]["passes"] == feedback
    assert ask(bot, "red").code == 1
    assert ran(bot) == 1
    assert [name for name in bot.left if name.startswith("waza-run")] == []


def test_only_what_judges_cost_this_time_counts(bot: Project) -> None:
    ask(bot, "blue", SITTING="one")
    ended = ask(bot, "blue", SITTING="two")
    (run_,) = task_of(bot)["runs"]
    assert [one["session_id"] for one in run_["grader_sessions"]] == ["two"]
    costs = newest_results(bot.home)["evaluation_usage"]["sessions"]
    assert [one["session_id"] for one in costs] == ["two"]
    lines = [json.loads(line) for line in (bot.runs[-1] / "journal.ndjson").read_text().splitlines()]
    (trial,) = [line["trial"] for line in lines if "trial" in line]
    assert (trial["cached"], trial["judged_anew"]) == (True, True)
    assert "judges" in ended.out.lower()


def test_a_workspace_in_the_cache_is_its_owners_alone(bot: Project) -> None:
    ask(bot, "blue")
    (packed,) = (bot.home / ".waza-cache").glob("*.tar")
    assert stat.S_IMODE(packed.stat().st_mode) == 0o600


@pytest.mark.parametrize("damage", ["changed", "gone"])
def test_a_workspace_that_is_not_whole_is_a_miss(bot: Project, damage: str) -> None:
    ask(bot, "blue")
    (packed,) = (bot.home / ".waza-cache").glob("*.tar")
    if damage == "gone":
        packed.unlink()
    else:
        packed.write_bytes(packed.read_bytes()[:-512])
    assert ask(bot, "blue").code == 0
    assert (ran(bot), "cached" in task_of(bot)) == (2, False)
    ask(bot, "blue")
    assert (ran(bot), task_of(bot)["cached"]) == (2, True)


def test_a_workspace_that_is_too_large_is_not_cached_and_that_is_reported(bot: Project) -> None:
    for times in (1, 2):
        ended = ask(bot, "blue", BIG="yes")
        assert ended.code == 0, ended.out
        assert ran(bot) == times
        assert "the result of t is not cached: its workspace is larger than 20 MB" in ended.err
    assert list((bot.home / ".waza-cache").glob("*")) == []


def test_no_workspace_stays_of_a_task_that_is_not_cached(bot: Project) -> None:
    assert ask(bot, "crash", "--trials", "2").code == 1
    assert ran(bot) == 2
    assert list((bot.home / ".waza-cache").glob("*")) == []


def test_a_judge_that_crashes_is_an_error_and_the_workspace_goes(bot: Project) -> None:
    ask(bot, "blue")
    assert ask(bot, "crash").code == 1
    assert "KeyError: 'wanted'" in task_of(bot)["runs"][0]["error_msg"]
    assert [name for name in bot.left if name.startswith("waza-run")] == []


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (f"graders: [{GRADER[:-2]}, continue_session: true}}}}]", "because a prompt grader asks in the agent's own session"),
        (f"checkpoints: [{{after_turn: 1, graders: [{GRADER}]}}]", "because prompt graders of checkpoints may decide otherwise"),
    ],
    ids=["own-session", "checkpoint"],
)  # fmt: skip
def test_what_cannot_be_judged_again_is_not_cached_and_that_is_reported(
    project: Project, more: str, why: str
) -> None:
    text = f"inputs: {{prompt: p}}\nmock: {{output: answer, judge: {{j: [{{pass: fine}}]}}}}\n{more}"
    mock_suite(project.home, {"t": text}, f"graders: [{LONG}]")
    seen = []
    for _ in range(2):
        ended = run(project)
        assert ended.code == 0, ended.out
        assert f"not cached: 1 task, {why}" in ended.err
        assert "cached" not in task_of(project)
        seen += sessions(project)
    assert len(set(seen)) == 2


def test_an_answer_of_which_the_record_lacks_something_is_not_cached(project: Project) -> None:
    scripted(
        project, "{j: [{pass: fine}]}", mock="output: 'answer ghp_0123456789abcdefghijklmnopqrstuvwxyzAB'"
    )
    for _ in range(2):
        ended = run(project)
        assert ended.code == 0, ended.out
        assert "the result of t is not cached: its record does not hold all that a judge saw" in ended.err
        assert "cached" not in task_of(project)
