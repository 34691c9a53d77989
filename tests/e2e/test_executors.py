"""Executors that a suite may name besides the mock and Copilot: any command, and agents over A2A."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest
from tests.support.a2a_agent import served
from tests.support.evaluators import write_evaluator
from tests.support.live import Project, nap, survivors
from tests.support.program import newest_results, strict_json, waza, write_tree

TASK = """
id: a
inputs: {prompt: hello, follow_up_prompts: [again], files: [{path: given.txt, content: here}]}
graders: [GRADER]
"""
SEEN = "{type: text, name: seen, config: {contains: [FOUND]}}"


def suite(root: Path, config: str, grader: str = SEEN, found: str = "hello") -> None:
    text = TASK.replace("GRADER", grader).replace("FOUND", found)
    write_tree(root, {"eval.yaml": f"name: s\nconfig: {config}\ntasks: [task.yaml]\n", "task.yaml": text})


def test_a_command_is_an_agent_that_works_in_the_workspace(tmp_path: Path):
    write_tree(
        tmp_path, {"bot.sh": 'cat given.txt -; touch made.txt; echo " ($WAZA_CONVERSATION $WAZA_TURN)"\n'}
    )
    grader = f"{SEEN}, {{type: file, name: made, config: {{must_exist: [made.txt]}}}}"
    command = "{executor: command, executor_options: {command: 'sh \"$WAZA_SUITE_DIR/bot.sh\"'}}"
    suite(tmp_path, command, grader, "hereagain (a 2)")
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert ended.code == 0, ended.out
    assert not (tmp_path / "made.txt").exists()
    (run,) = newest_results(tmp_path)["tasks"][0]["runs"]
    assert [event["content"] for event in run["transcript"]] == [
        "hello", "herehello (a 1)", "again", "hereagain (a 2)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("echo no luck >&2; exit 3", "exit status 3: no luck"),
        ("exit 75", "exit status 75"),
        ("yes | head -c 9000000", "wrote more than"),
    ],
)
def test_a_command_that_breaks_is_an_error_of_its_run(tmp_path: Path, command: str, says: str):
    suite(tmp_path, "{executor: mock}")
    ended = waza("run", "eval.yaml", "--executor", f"command:{command}", cwd=tmp_path)
    assert ended.code == 1
    (run,) = newest_results(tmp_path)["tasks"][0]["runs"]
    assert run["status"] == "error"
    assert says in run["error_msg"]


def test_nothing_of_a_command_that_takes_too_long_is_left(tmp_path: Path):
    project, duration = Project(tmp_path), nap()
    suite(project.home, "{executor: mock}")
    asked = (
        "run",
        "eval.yaml",
        "--executor",
        f"command:sleep {duration} & sleep {duration}",
        "--timeout",
        "1",
    )
    ended = project.run(*asked)
    assert ended.code == 1
    (run,) = newest_results(project.home)["tasks"][0]["runs"]
    assert (run["timed_out"], survivors(duration), project.left) == (True, [], [])


def test_an_agent_over_a2a_answers_a_suite(tmp_path: Path):
    with served() as agent:
        suite(tmp_path, f"{{executor: a2a, executor_options: {{url: '{agent.url}'}}}}", found="'2: again'")
        assert waza("run", "eval.yaml", cwd=tmp_path).code == 0
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert ended.code == 2
    assert "there is no A2A agent at" in ended.err


@pytest.mark.parametrize(
    ("config", "flags", "says"),
    [
        ("{executor: command}", [], "eval.yaml:2:10: config.executor_options: 'command' is missing"),
        (
            "{executor: a2a, executor_options: {ulr: x}}",
            [],
            "config.executor_options.ulr: unknown key 'ulr'; did you mean 'url'?",
        ),
        ("{executor: mock}", ["--executor", "a2a"], "write --executor a2a:URL"),
        ("{executor: mock}", ["--executor", "comand:x"], "there is no executor 'comand:x'"),
    ],
)
def test_options_are_checked_before_anything_runs(tmp_path: Path, config: str, flags: list[str], says: str):
    suite(tmp_path, config)
    ended = waza("run", "eval.yaml", *flags, cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err


def test_what_the_platform_says_of_an_answer_reaches_evaluators(tmp_path: Path):
    task = """
    id: a
    inputs: {prompt: find it}
    mock:
      output: found
      diagnostics:
        retrieval_executions:
          - {capability: web, queries: [{queryString: lima weather}], retrievalHits: []}
    graders:
      - {type: evaluator, name: right, config: {name: RetrievalQuery, options: {capability: web, selector: lima}}}
    """
    write_tree(
        tmp_path,
        {"eval.yaml": "name: s\nconfig: {executor: mock}\ntasks: [task.yaml]\n", "task.yaml": dedent(task)},
    )
    ended = waza("run", "eval.yaml", "-o", "r.json", cwd=tmp_path)
    assert ended.code == 0, ended.out + ended.err
    graded = waza("grade", "eval.yaml", "--results", "r.json", cwd=tmp_path)
    assert strict_json(graded.out)["passed"]


ASKED = """
class Asked:
    def __init__(self, **_): ...
    def __call__(self, *, prompt="", **_):
        with open("asked.txt", "a", encoding="utf-8") as file:
            print(prompt, file=file)
        return {"score": 1}
"""


def test_evaluators_are_asked_about_the_prompt_that_was_answered_and_of_broken_turns_not_at_all(
    tmp_path: Path,
):
    write_evaluator(tmp_path, "asked", ASKED)
    grader = "{type: evaluator, name: asked, config: {name: asked}}"
    task = f"""
    id: a
    inputs: {{prompt: first, follow_up_prompts: [second, third]}}
    checkpoints: [{{after_turn: 1, graders: [{grader}]}}]
    graders: [{grader}, {{type: text, name: seen, config: {{contains: [third]}}}}]
    """
    write_tree(
        tmp_path,
        {"eval.yaml": "name: s\nconfig: {executor: mock}\ntasks: [task.yaml]\n", "task.yaml": dedent(task)},
    )
    assert waza("run", "eval.yaml", "-o", "r.json", cwd=tmp_path).code == 0
    assert (tmp_path / "asked.txt").read_text() == "first\nthird\n"
    assert waza("grade", "eval.yaml", "--results", "r.json", cwd=tmp_path).code == 0
    broken = waza("run", "eval.yaml", "--executor", "command:exit 1", cwd=tmp_path)
    assert broken.code == 1
    (run,) = newest_results(tmp_path)["tasks"][0]["runs"]
    assert list(run["validations"]) == ["seen"]
    assert (tmp_path / "asked.txt").read_text().startswith("first\nthird\n")
    assert len((tmp_path / "asked.txt").read_text().splitlines()) == 3  # once more by `grade`


def test_graders_that_need_a_judge_are_refused_before_the_agent_is_asked(tmp_path: Path):
    graders = (
        "{type: prompt, name: tone, config: {prompt: Is it polite?}},"
        "{type: evaluator, name: coherent, config: {name: Coherence}}"
    )
    command = "config: {executor: command, executor_options: {command: cat}}"
    write_tree(tmp_path, {"command.yaml": f"name: c\n{command}\ntasks: [task.yaml]\n"})
    suite(tmp_path, "{executor: mock}", graders)
    for words in (["eval.yaml", "--executor", "command:cat"], ["command.yaml"]):
        refused = waza("run", *words, cwd=tmp_path)
        assert refused.code == 2
        lack = "graders[0].config: needs a judge, which the executor 'command' does not offer; "
        assert f"{lack}use executor: chat, claude, copilot-sdk or mock, or another grader" in refused.err
        assert (
            "graders[1].config.name: warning: Coherence asks a judge, and none is configured" in refused.err
        )
    ended = waza("run", "eval.yaml", "-o", "r.json", cwd=tmp_path)
    assert "warning" not in ended.err
    graded = waza("grade", "eval.yaml", "--results", "r.json", cwd=tmp_path)
    assert graded.code == 0
    assert "warning: a, run 1: running graders: tone: " in graded.err


def test_a_command_calls_mocked_programs(tmp_path: Path):
    mocks = "command_mocks: [{name: gh, responses: [{args: [pr, list], stdout: MOCKED}]}]"
    head = (
        "schemaVersion: '1.3'\nname: s\nconfig: {executor: command, executor_options: {command: gh pr list}}"
    )
    task = "id: a\ninputs: {prompt: p}\ngraders: [{type: text, name: t, config: {contains: [MOCKED]}}]\n"
    write_tree(tmp_path, {"eval.yaml": f"{head}\n{mocks}\ntasks: [task.yaml]\n", "task.yaml": task})
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert ended.code == 0, ended.out + ended.err
    (run,) = newest_results(tmp_path)["tasks"][0]["runs"]
    assert [call["args"] for call in run["command_invocations"]] == [["pr", "list"]]


def test_servers_for_an_agent_that_gets_none_are_refused_and_a_scripted_agent_needs_none(tmp_path: Path):
    servers = "mcp_servers: {x: {command: cat}}"
    config = f"{{executor: command, executor_options: {{command: cat}}, {servers}}}"
    suite(tmp_path, config, found="again")
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert ended.code == 2
    assert "config.mcp_servers: needs MCP servers, which the executor 'command' does not offer" in ended.err
    ended = waza("run", "eval.yaml", "--executor", "mock", cwd=tmp_path)
    assert (ended.code, ended.err.count("has no effect with the executor 'mock'")) == (0, 1)


def test_answers_of_an_agent_elsewhere_are_not_cached(tmp_path: Path):
    write_tree(tmp_path, {"bot.sh": "cat"})
    suite(
        tmp_path,
        "{executor: command, executor_options: {command: 'sh $WAZA_SUITE_DIR/bot.sh'}}",
        found="again",
    )
    first = waza("run", "eval.yaml", "--cache", "-v", cwd=tmp_path)
    assert (first.code, "cannot be known" in first.err) == (0, True)
    write_tree(tmp_path, {"bot.sh": "echo other"})
    assert waza("run", "eval.yaml", "--cache", cwd=tmp_path).code == 1


def test_checks_of_what_an_executor_does_not_report_are_refused_before_the_run(tmp_path: Path):
    graders = (
        "{type: tool_calls, name: calls, config: {forbidden_tools: [bash]}},"
        "{type: skill_invocation, name: skills, config: {forbidden_skills: [y]}},"
        "{type: behavior, name: short, config: {max_tool_calls: 3, max_duration_ms: 60000}},"
        "{type: behavior, name: cheap, config: {max_tokens: 9}},"
        "{type: behavior, name: quick, config: {max_duration_ms: 60000}}"
    )
    suite(tmp_path, "{executor: command, executor_options: {command: cat}}", graders)
    tests = "skill: x\nshould_trigger_prompts: [{prompt: p}]\n"
    write_tree(tmp_path, {"trigger_tests.yaml": tests})
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert ended.code == 2
    calls = "needs reports of tool calls, which the executor 'command' does not offer"
    assert ended.err.count(calls) == 4  # three graders, and the trigger tests
    assert f"trigger_tests.yaml:1:1: {calls}" in ended.err
    assert "graders[2].config.max_tool_calls: needs" in ended.err
    assert "graders[3].config.max_tokens: needs token counts" in ended.err
    assert "graders[4]" not in ended.err


def test_what_is_done_is_written_when_a_later_suite_cannot_start(tmp_path: Path):
    suite(tmp_path, "{executor: mock}", found="again")
    skill = "---\nname: {0}\ndescription: d\n---\n"
    hook = "hooks: {before_run: [{command: 'exit 1', error_on_fail: true}]}"
    task = "id: a\ninputs: {prompt: p}\ngraders: [{type: text, name: t, config: {contains: [p]}}]\n"
    for name, extra in (("aa", ""), ("bb", hook)):
        head = f"name: {name}\nskill: {name}\nconfig: {{executor: mock}}\n{extra}\ntasks: [task.yaml]\n"
        files = {"SKILL.md": skill.format(name), "evals/eval.yaml": head, "evals/task.yaml": task}
        write_tree(tmp_path / "skills" / name, files)
    ended = waza("run", "--discover", "skills", "--no-save", "-o", "out.json", cwd=tmp_path)
    assert ended.code == 2
    assert "before_run" in ended.err
    assert list(tmp_path.glob("out*.json"))


@pytest.mark.parametrize("message", [None, "text", {}, {"diagnostics": 1}])
def test_a_record_of_another_program_with_events_of_our_names_can_be_graded(tmp_path: Path, message: object):
    suite(tmp_path, "{executor: mock}", found="again")
    assert waza("run", "eval.yaml", "-o", "r.json", cwd=tmp_path).code == 0
    results = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    results["tasks"][0]["runs"][0]["transcript"] = [
        {"type": "turn.answer", "content": "x", "message": message}
    ]
    (tmp_path / "r.json").write_text(json.dumps(results), encoding="utf-8")
    assert waza("grade", "eval.yaml", "--results", "r.json", cwd=tmp_path).code == 0


def test_the_last_line_of_a_long_error_is_shown_everywhere(tmp_path: Path):
    bot = "import sys\nsys.stderr.write('Traceback: starts here\\n' + '  a frame of it\\n' * 2000)\nraise ValueError('the reason')\n"
    write_tree(tmp_path, {"bot.py": bot})
    suite(tmp_path, "{executor: command, executor_options: {command: 'python3 \"$WAZA_SUITE_DIR/bot.py\"'}}")
    ended = waza("run", "eval.yaml", "--reporter", "junit:j.xml", "--reporter", "markdown:m.md", cwd=tmp_path)
    assert ended.code == 1
    places = [
        ended.out,
        ended.err,
        *((tmp_path / name).read_text(encoding="utf-8") for name in ("j.xml", "m.md")),
    ]
    for text in places:
        assert "Traceback: starts here" in text
        assert "ValueError: the reason" in text
        assert len(text) < 20_000
