"""Graders and executors of other packages that are not as they should be: what is said, where, and what is kept."""

from __future__ import annotations

import json
import os
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, waza, write_tree

GRADERS = '''
from waza import Grader, Verdict


class Fine(Grader, frozen=True, kw_only=True):
    """It passes."""

    def grade(self, observation, helpers):
        return Verdict(passed=True, score=1)


class Stranger:
    def grade(self, observation, helpers):
        return None


class Silent(Grader, frozen=True, kw_only=True):
    limit: int = 1


class Odd(Grader, frozen=True, kw_only=True):
    names: set[str] = set()

    def grade(self, observation, helpers):
        return None


class Raises(Grader, frozen=True, kw_only=True):
    text: str = ""

    def check(self, location):
        raise ValueError("no check")

    def grade(self, observation, helpers):
        return None
'''
EXECUTORS = """
import json
import time

from waza import Capabilities, Event, Keys, Turn, Usage


class Options(Keys, frozen=True, kw_only=True):
    word: str


class Bot:
    capabilities = Capabilities(usage=True)

    def __init__(self, setup):
        self.setup = setup

    async def start(self):
        pass

    def works_in(self, task):
        return False

    async def open(self, attempt, place):
        return self

    async def send(self, prompt, limits):
        return Turn(output=prompt)

    def judge(self, attempt):
        return None

    async def aclose(self):
        pass


class Choosy(Bot):
    Options = Options

    async def send(self, prompt, limits):
        return Turn(output="word: " + self.setup.options(Options).word)


class Partial:
    capabilities = Capabilities()

    async def start(self):
        pass


class Untyped(Bot):
    Options = dict


class Nothing(Bot):
    async def send(self, prompt, limits):
        return None


class Numbers(Bot):
    async def send(self, prompt, limits):
        return Turn(output=5)


class Untold(Bot):
    async def send(self, prompt, limits):
        return Turn(events=({"type": "assistant.message"},))


class Slow(Bot):
    async def send(self, prompt, limits):
        end = time.monotonic() + 0.02
        while time.monotonic() < end:
            pass
        return Turn(output=prompt)


class Forgetful(Bot):
    async def send(self, prompt, limits):
        if prompt == "again":
            json.loads("{")
        usage = Usage(
            turns=1,
            input_tokens=3,
            output_tokens=4,
            cache_read_tokens=0,
            cache_write_tokens=0,
            premium_requests=0,
        )
        return Turn(output="first", events=(Event(type="user.message", content=prompt),), usage=usage)


class Sticky(Bot):
    async def open(self, attempt, place):
        return Bot(self.setup)

    async def aclose(self):
        raise ValueError("it does not stop")


class Judging(Sticky):
    capabilities = Capabilities(judge=True)


class Clinging(Bot):
    capabilities = Capabilities(skills=True, tool_calls=True)

    async def send(self, prompt, limits):
        return Turn(output=prompt, events=(Event(type="user.message", content=prompt),))

    async def aclose(self):
        if "executor" not in self.__dict__:
            raise ValueError("it does not close")

    async def open(self, attempt, place):
        self.executor = True
        return Clinging(self.setup)


class Away(Bot):
    async def start(self):
        raise ValueError("nobody is there")
"""
NAMES = {
    "graders": {
        "fine": "parts_graders:Fine",
        "stranger": "parts_graders:Stranger",
        "silent": "parts_graders:Silent",
        "odd": "parts_graders:Odd",
        "raises": "parts_graders:Raises",
        "lost": "parts_graders:Lost",
    },
    "executors": {
        name.lower(): f"parts_executors:{name}"
        for name in (
            "Bot", "Choosy", "Partial", "Untyped", "Nothing", "Numbers", "Untold", "Slow", "Forgetful", "Sticky",
            "Away", "Clinging", "Judging",
        )
    },
}  # fmt: skip
TASK = "{id: a, inputs: {prompt: hello, follow_up_prompts: [again]}, expected: {output_contains: [again]}}"


def call(
    root: Path, *words: str, config: str = "{executor: mock}", grader: str = "fine", more: str = ""
) -> Ended:
    """Call waza where these plugins are installed, beside a suite."""
    entries = [
        f"[waza.{group}]\n" + "".join(f"{k} = {v}\n" for k, v in of.items()) for group, of in NAMES.items()
    ]
    package = write_tree(
        root / "package",
        {
            "parts_graders.py": GRADERS,
            "parts_executors.py": EXECUTORS,
            "parts-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: parts\nVersion: 1.0\n",
            "parts-1.0.dist-info/entry_points.txt": "".join(entries),
        },
    )
    suite = (
        f"name: s\nconfig: {config}\ngraders:\n  - {{type: {grader}, name: g}}\ntasks: [task.yaml]\n{more}"
    )
    write_tree(root, {"eval.yaml": suite, "task.yaml": TASK})
    path = os.pathsep.join(part for part in (str(package), os.environ.get("PYTHONPATH", "")) if part)
    return waza(*words, cwd=root, env={"PYTHONPATH": path})


def only_run(ended: Ended) -> dict[str, Any]:
    run: dict[str, Any] = ended.results()["tasks"][0]["runs"][0]
    return run


@pytest.mark.parametrize(
    ("grader", "says"),
    [
        ("stranger", ("the grader 'stranger' of the package parts cannot be used: parts_graders:Stranger is not a "
         "subclass of waza.Grader")),
        ("silent", "parts_graders:Silent has no method grade"),
        ("odd", "parts_graders:Odd has the field 'names' of a type that cannot be read from YAML; use str, "),
        ("lost", "the grader 'lost' of the package parts cannot be imported from parts_graders:Lost: AttributeError"),
        ("raises", "the grader type 'raises' broke when its config was checked: ValueError: no check ("),
        ("raises, config: {text: '{{.TaskName}}'}", "ValueError: no check ("),
    ],
)  # fmt: skip
def test_a_grader_that_cannot_be_used_is_a_mistake_at_its_type(tmp_path: Path, grader: str, says: str):
    ended = call(tmp_path, "run", "eval.yaml", grader=grader)
    assert (ended.code, says in ended.err) == (2, True), ended.err
    assert "eval.yaml:4:6: graders[0].type: " in ended.err
    assert "defect of waza" not in ended.err
    assert not (tmp_path / ".waza").exists()


def test_a_grader_that_cannot_be_used_hides_no_other_in_the_list(tmp_path: Path):
    ended = call(tmp_path, "grader", "show")
    assert ended.code == 0, ended.err
    lines = {line.split()[0]: line for line in ended.out.splitlines()}
    assert lines["fine"].endswith(" It passes.")
    assert "is not a subclass of waza.Grader" in lines["stranger"]
    assert {"text", "odd", "lost"} <= lines.keys()


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("{executor: partial}", (":2:10: config.executor: the executor 'partial' of the package parts cannot be used: "
         "parts_executors:Partial has no method works_in, open, judge, aclose")),
        ("{executor: untyped}", "has Options that are not a subclass of waza.Keys"),
        ("{executor: choosy, executor_options: {word: a, wrod: b}}", (":2:56: config.executor_options.wrod: unknown key"
         " 'wrod'; did you mean 'word'?")),
        ("{executor: choosy}", ":2:10: config.executor_options: 'word' is missing"),
        ("{executor: bot, executor_options: {word: a}}", "config.executor_options.word: unknown key 'word'; known: none"),
        ("{executor: mock, executor_options: {word: a}}", "config.executor_options.word: unknown key 'word'"),
    ],
)  # fmt: skip
def test_an_executor_that_cannot_be_used_is_refused_with_its_place(tmp_path: Path, config: str, says: str):
    ended = call(tmp_path, "run", "eval.yaml", config=config)
    assert (ended.code, says in ended.err) == (2, True), ended.err
    assert not (tmp_path / ".waza").exists()


def test_options_reach_the_executor_as_they_were_read(tmp_path: Path):
    call(tmp_path, "run", "eval.yaml", config="{executor: choosy, executor_options: {word: 1.50}}")
    ended = call(tmp_path, "run", "eval.yaml", config="{executor: choosy, executor_options: {word: 1.50}}")
    assert only_run(ended)["final_output"] == "word: 1.50"


@pytest.mark.parametrize(
    ("executor", "says"),
    [
        ("nothing", "the executor returned NoneType, not a Turn"),
        ("numbers", "the executor's Turn has output=5, which is not a text"),
        ("untold", "the executor's Turn has events that are not of the class Event"),
    ],
)
def test_an_answer_that_is_no_turn_is_an_error_of_its_trial(tmp_path: Path, executor: str, says: str):
    ended = call(tmp_path, "run", "eval.yaml", config=f"{{executor: {executor}}}")
    assert ended.code == 1, ended.err
    assert (only_run(ended)["status"], only_run(ended)["error_msg"]) == ("error", says)


def test_the_turns_before_one_that_raises_are_kept(tmp_path: Path):
    ended = call(tmp_path, "run", "eval.yaml", config="{executor: forgetful}")
    assert ended.code == 1, ended.err
    run = only_run(ended)
    assert (run["status"], run["final_output"]) == ("error", "first")
    assert [event["content"] for event in run["transcript"]] == ["hello", "again"]
    assert run["session_digest"]["usage"]["output_tokens"] == 4
    assert run["error_msg"].startswith("follow-up 1/1: the executor broke: JSONDecodeError: ")
    assert "parts_executors.py:" in run["error_msg"]
    assert run["error_msg"].endswith(', in send: json.loads("{"))')


def test_a_turn_whose_executor_gives_no_duration_is_measured(tmp_path: Path):
    ended = call(tmp_path, "run", "eval.yaml", config="{executor: slow}")
    assert ended.code == 0, ended.err
    assert only_run(ended)["duration_ms"] >= 40


def test_an_executor_that_breaks_when_it_is_stopped_is_a_warning_of_a_whole_run(tmp_path: Path):
    ended = call(tmp_path, "run", "eval.yaml", config="{executor: sticky}")
    assert ended.code == 0, ended.err
    fault = "the executor broke when it was stopped: ValueError: it does not stop ("
    assert fault in ended.err


def test_warnings_of_a_run_are_in_all_that_it_writes(tmp_path: Path):
    hook = "hooks:\n  after_run: [{command: exit 3}]\n"
    written = ("results.json", "report.xml", "report.md", "report.html")
    words = [
        *("-o", written[0]),
        *("--reporter", f"junit:{written[1]}", "--reporter", f"markdown:{written[2]}", "--reporter", f"html:{written[3]}"),
    ]  # fmt: skip
    ended = call(tmp_path, "run", "eval.yaml", *words, config="{executor: sticky}", more=hook)
    assert ended.code == 0, ended.err
    (saved,) = (tmp_path / ".waza" / "runs").glob("*/results.json")
    texts = {name: (tmp_path / name).read_text() for name in written} | {"saved": saved.read_text()}
    texts["console"] = ended.out
    for fault in ("the executor broke when it was stopped", "the after_run hook `exit 3` failed"):
        assert [name for name, text in texts.items() if fault not in unescape(text.replace("\\", ""))] == []
    resumed = call(tmp_path, "run", "eval.yaml", "--resume", "--json", config="{executor: sticky}", more=hook)
    assert (
        json.loads(resumed.out)["metadata"]["warnings"] == json.loads(texts["saved"])["metadata"]["warnings"]
    )


def test_a_session_that_breaks_when_it_is_closed_keeps_what_was_seen(tmp_path: Path):
    ended = call(tmp_path, "run", "eval.yaml", config="{executor: clinging}")
    assert ended.code == 1, ended.err
    run = only_run(ended)
    assert (run["status"], run["final_output"]) == ("error", "again")
    assert [event["content"] for event in run["transcript"]] == ["hello", "again"]
    assert {name: one["passed"] for name, one in run["validations"].items()} == {
        "g": True,
        "_output_contains": True,
    }
    assert run["error_msg"].startswith(
        "closing the session: the executor broke: ValueError: it does not close ("
    )
    assert "parts_executors.py:" in run["error_msg"]


def test_an_executor_without_a_judge_is_not_started_to_grade_again(tmp_path: Path):
    assert call(tmp_path, "run", "eval.yaml", config="{executor: bot}").code == 0
    (results,) = (tmp_path / ".waza" / "runs").glob("*/results.json")
    ended = call(tmp_path, "grade", "eval.yaml", "--results", str(results), config="{executor: away}")
    assert ended.code == 0, ended.err
    assert '"passed": true' in ended.out


def test_models_of_an_executor_that_does_not_choose_them_are_a_warning(tmp_path: Path):
    ended = call(tmp_path, "run", "eval.yaml", "-m", "a", "-m", "b", config="{executor: bot}")
    assert ended.code == 0
    assert (
        "--model: warning: the executor 'bot' does not choose the model, so the agent is the same"
        in ended.err
    )
    assert (
        "--model: warning" not in call(tmp_path, "run", "eval.yaml", "-m", "a", config="{executor: bot}").err
    )


def test_a_trigger_test_whose_session_does_not_close_keeps_its_answer(tmp_path: Path):
    prompts = "skill: helper\nshould_trigger_prompts: [{prompt: go}]\n"
    write_tree(
        tmp_path,
        {"trigger_tests.yaml": prompts, "SKILL.md": "---\nname: helper\ndescription: d\n---\nHelp."},
    )
    ended = call(tmp_path, "run", "eval.yaml", config="{executor: clinging}", more="skill: ./SKILL.md\n")
    (asked,) = ended.results()["trigger_results"]
    assert asked["final_output"] == "go", ended.err
    assert asked["error_msg"].startswith("the executor broke: ValueError: it does not close (")


def test_verdicts_stay_when_the_executor_breaks_as_grading_again_stops_it(tmp_path: Path):
    assert call(tmp_path, "run", "eval.yaml", config="{executor: bot}").code == 0
    (results,) = (tmp_path / ".waza" / "runs").glob("*/results.json")
    ended = call(tmp_path, "grade", "eval.yaml", "--results", str(results), config="{executor: judging}")
    assert ended.code == 0, ended.err
    assert "warning: the executor broke when it was stopped: ValueError: it does not stop (" in ended.err
    assert '"passed": true' in ended.out


def test_a_name_that_several_have_is_refused(tmp_path: Path):
    """A suite would not mean what its author reads: of two classes one would be taken silently."""
    files = {}
    for package, entries in {
        "mine": "[waza.graders]\ntext = mine:Fine\nshared = mine:Fine\n[waza.executors]\nmock = mine:Bot\n",
        "other": "[waza.graders]\nshared = mine:Fine\n",
    }.items():
        files[f"{package}-1.0.dist-info/METADATA"] = f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
        files[f"{package}-1.0.dist-info/entry_points.txt"] = entries
    packages = write_tree(tmp_path / "packages", files)
    suite = "name: s\nconfig: {executor: mock}\ntasks: [t.yaml]\ngraders:\n - {type: text, name: a, config: {contains: [x]}}\n"
    suite += " - {type: shared, name: b}\n"
    write_tree(tmp_path, {"eval.yaml": suite, "t.yaml": "id: t\ninputs: {prompt: p}\n"})
    path = os.pathsep.join(part for part in (str(packages), os.environ.get("PYTHONPATH", "")) if part)
    ended = waza("run", "eval.yaml", cwd=tmp_path, env={"PYTHONPATH": path})
    assert (ended.code, ended.out) == (2, "")
    assert (
        "eval.yaml:5:5: graders[0].type: the grader 'text' is in waza itself and in the package mine;"
        in ended.err
    )
    assert (
        "graders[1].type: the grader 'shared' is in the package mine and in the package other;" in ended.err
    )
    write_tree(tmp_path, {"eval.yaml": "name: s\nconfig: {executor: mock}\ntasks: [t.yaml]\n"})
    ended = waza("run", "eval.yaml", cwd=tmp_path, env={"PYTHONPATH": path})
    assert ended.code != 0
    assert "the executor 'mock' is in waza itself and in the package mine" in ended.err
