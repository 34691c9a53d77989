"""What `waza preflight` says of requirements, executors, files and mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.broken import graders, mocks, places, suites, syntax, tasks
from tests.e2e.broken.case import Case
from tests.e2e.test_corpus import CORPUS, LOADS, REFUSED
from tests.support.program import mock_suite, strict_json, waza, write_tree

from waza.kit.unsafe_text import escape_unsafe
from waza.model.preflight import Preflight, worst
from waza.preflight.inventory import inventory
from waza.report.preflight import preflight_lines
from waza.suite.loading import LoadOptions

PLAIN = "inputs: {prompt: p}\n"

# Without options of `run`, and without what is no suite at all.
BROKEN = [
    case
    for module in (syntax, suites, tasks, graders, mocks, places)
    for case in module.CASES
    if len(case.args) == 1 and not case.says[-1].startswith("Error: ")
]


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
def test_what_a_run_refuses_is_invalid_in_the_same_words(
    tmp_path: Path, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    case.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    report = inventory(Path(case.args[0]), LoadOptions())
    preflight_lines = [line for line in case.stderr.splitlines()[:-1] if ": warning: " not in line]
    invalid = {
        (escape_unsafe(one.message), escape_unsafe(f"{one.message}; {one.remediation}"))
        for one in report.diagnostics
        if one.state == "invalid"
    }
    assert {line for line in preflight_lines if not any(line in words for words in invalid)} == set()
    assert len(invalid) >= len(set(preflight_lines))
    assert not report.complete


def report_of(root: Path, monkeypatch: pytest.MonkeyPatch) -> Preflight:
    monkeypatch.chdir(root)
    return inventory(Path("eval.yaml"), LoadOptions())


def codes(report: Preflight) -> list[tuple[str, str]]:
    return [(one.code, one.state) for one in report.diagnostics]


REQUIREMENTS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "two scopes": ("id: R, checks: [{scope: eval, grader: e}, {scope: task, grader: t}]", []),
    "no id": ("id: '', checks: [{scope: eval, grader: e}]", [("requirement.invalid", "invalid")]),
    "blanks": ("id: ' R', checks: [{scope: eval, grader: e}]", [("requirement.invalid", "invalid")]),
    "no grader": ("id: R, checks: [{scope: eval}]", [("requirement.invalid", "invalid")]),
    "no scope": ("id: R, checks: [{grader: e}]", [("requirement.invalid", "invalid")]),
    "turn of a task": (
        "id: R, checks: [{scope: task, grader: t, after_turn: 1}]",
        [("requirement.invalid", "invalid")],
    ),
    "no turn": ("id: R, checks: [{scope: checkpoint, grader: c}]", [("requirement.invalid", "invalid")]),
    "turn 0": (
        "id: R, checks: [{scope: checkpoint, grader: c, after_turn: 0}]",
        [("requirement.invalid", "invalid")],
    ),
    "turn 2": (
        "id: R, checks: [{scope: checkpoint, grader: c, after_turn: 2}]",
        [("requirement.references", "invalid")],
    ),
    "other scope": ("id: R, checks: [{scope: eval, grader: t}]", [("requirement.references", "invalid")]),
    "twice": (
        "id: R, checks: [{scope: eval, grader: e}, {scope: eval, grader: e}]",
        [("requirement.invalid", "invalid")],
    ),
    "unknown key": (
        "id: R, owner: me, checks: [{scope: eval, grader: e}]",
        [("requirement.invalid", "unresolved")],
    ),
}


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_requirements(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keys, expected = REQUIREMENTS[name]
    task = f"""
inputs: {{prompt: p, follow_up_prompts: [q]}}
graders: [{{type: text, name: t, config: {{contains: [x]}}}}]
checkpoints: [{{after_turn: 1, graders: [{{type: text, name: c, config: {{contains: [x]}}}}]}}]
requirements: [{{category: boundary, description: d, {keys}}}]
"""
    mock_suite(tmp_path, {"a": task}, "graders: [{type: text, name: e, config: {contains: [x]}}]")
    report = report_of(tmp_path, monkeypatch)
    assert codes(report) == expected
    (requirement,) = report.tasks[0].requirements
    wrong = [state for _, state in expected if name != "unknown key"]
    assert requirement.state == worst(wrong)  # type: ignore[arg-type]  # states as they are written above


def test_names_that_are_not_clear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twins are ambiguous in a requirement; a name in eval and task is a collision; a run refuses both."""
    text = "{type: text, name: %s, config: {contains: [x]}}"
    task = f"""
inputs: {{prompt: p}}
graders: [{text % "e"}, {text % "twin"}, {text % "twin"}]
requirements:
  - {{id: R, category: outcome, description: d, checks: [{{scope: task, grader: twin}}]}}
  - {{id: R, category: outcome, description: ' ', checks: [{{scope: eval, grader: e}}]}}
"""
    mock_suite(tmp_path, {"a": task}, f"graders: [{text % 'e'}]")
    report = report_of(tmp_path, monkeypatch)
    assert codes(report) == [
        ("grader.configuration", "invalid"),
        ("grader.configuration", "invalid"),
        ("grader.result_collision", "unresolved"),
        ("requirement.invalid", "invalid"),
        ("requirement.invalid", "invalid"),
        ("requirement.references", "invalid"),
    ]
    twice, ambiguous = report.diagnostics[3:5], report.diagnostics[5]
    assert {one.requirement_id for one in twice} == {"R"}
    assert "2 graders are called 'twin' in scope task" in ambiguous.message
    assert [one.state for one in report.tasks[0].requirements] == ["invalid", "invalid"]


def test_graders_with_mistakes_bring_about_no_unknown_references(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = """
inputs: {prompt: p}
graders: [{type: txt, name: t}]
checkpoints: [{after_turn: never, graders: [{type: text, name: c, config: {contains: [x]}}]}]
requirements:
  - {id: R1, category: outcome, description: d, checks: [{scope: task, grader: t}]}
  - {id: R2, category: outcome, description: d, checks: [{scope: checkpoint, grader: c, after_turn: 1}]}
"""
    mock_suite(tmp_path, {"a": task})
    report = report_of(tmp_path, monkeypatch)
    assert codes(report) == [
        ("grader.configuration", "invalid"),
        ("task.schema", "invalid"),
        ("requirement.references", "unresolved"),
    ]
    assert [one.state for one in report.tasks[0].requirements] == ["verified", "unresolved"]


SERVER = "{name: s, tools: {find: {responses: [{return: 1}], input_schema: {type: nothing}}}}"
PARTS = {
    "graders: [{type: text, nmae: g, config: {contains: [x]}}]": "grader.configuration",
    "graders: [{type: [text]}]": "grader.configuration",
    "mcp_mocks: [{name: s, tools: [a]}]": "mock.mcp",
    f"mcp_mocks: [{SERVER}]": "mock.input_schema",
    "config: {executor: mock, mcp_servers: {wiki: {type: http}}}": "dependency.mcp_configuration",
    "config: {executor: mock, instruction_files: [../up.md]}": "instruction.path",
    "config: {executor: mock, instruction_files: [gone.md]}": "instruction.file",
    "description: [d]": "eval.schema",
}


@pytest.mark.parametrize(("written", "code"), PARTS.items())
def test_mistakes_have_the_code_of_their_part_of_the_file(
    tmp_path: Path, written: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(tmp_path, {"eval.yaml": f"name: s\ntasks: [t.yaml]\n{written}\n", "t.yaml": PLAIN})
    assert (code, "invalid") in codes(report_of(tmp_path, monkeypatch))


CAPABILITIES = """
name: s
config: {{executor: {executor}, model: m{more}}}
skill: bot
mcp_mocks: [{{name: files, tools: {{find: {{responses: [{{return: 1}}]}}}}}}]
tasks: [t.yaml]
"""


@pytest.mark.parametrize(
    ("executor", "states", "codes_there"),
    [
        ("mock", ("verified", "unsupported", "verified", "unsupported"), []),
        (
            "command, executor_options: {command: cat}",
            ("unresolved", "unsupported", "verified", "unsupported"),
            ["runtime.availability", "runtime.mcp", "runtime.tool_boundary"],
        ),
        ("copilot-sdk", ("unresolved", "verified", "verified", "unresolved"), ["runtime.availability"]),
        ("nobody", ("invalid", "verified", "verified", "unresolved"), ["runtime.executor"]),
    ],
)
def test_what_executors_can_do(
    tmp_path: Path,
    executor: str,
    states: tuple[str, ...],
    codes_there: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    agent = "---\nname: bot\ndescription: d\ntools: [view]\n---\nHelp."
    suite = CAPABILITIES.format(executor=executor, more="")
    write_tree(tmp_path, {"eval.yaml": suite, "t.yaml": PLAIN, "bot.agent.md": agent})
    report = report_of(tmp_path, monkeypatch)
    assert tuple(one.state for one in report.capabilities) == states
    unsupported = ["runtime.tool_boundary", "runtime.mcp"] if executor == "mock" else []
    assert [one.code for one in report.diagnostics] == sorted([*codes_there, *unsupported])
    assert not report.complete


def test_what_a_hook_may_make_and_what_is_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = (
        "{inputs: {prompt: p, files: [{path: made.txt}], repos: [{type: worktree, source: made, dest: d}]},"
        " expected: {output_contains: [x]}}"
    )
    head = "skill: nobody\nhooks: {before_run: [{command: make}]}"
    mock_suite(tmp_path, {"a": task}, head)
    report = report_of(tmp_path, monkeypatch)
    assert worst(report.states()) == "unresolved"
    assert sorted(one.code for one in report.diagnostics) == [
        *["dependency.repository"] * 2,
        "hooks.execution",
        "resource.file",
        "skill.target",
    ]
    states = {(one.kind, one.name): one.state for one in report.dependencies}
    assert states["fixture", "made.txt"] == states["repository", "made"] == "unresolved"
    assert states["target", "nobody"] == "unresolved"


def test_the_tasks_of_a_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = "config: {executor: mock}\ntasks_from: d.csv\ngraders: [{type: text, config: {contains: [x]}}]\n"
    write_tree(tmp_path, {"eval.yaml": suite, "d.csv": "id,prompt\na,p\nb,q\n"})
    report = report_of(tmp_path, monkeypatch)
    assert report.complete
    assert [(task.id, task.source) for task in report.tasks] == [("a", "d.csv:2"), ("b", "d.csv:3")]
    write_tree(tmp_path, {"d.csv": "id,prompt\na\n"})
    broken = report_of(tmp_path, monkeypatch)
    assert codes(broken) == [("tasks.csv", "invalid")]
    assert broken.diagnostics[0].source == "d.csv"


def test_context_dir(tmp_path: Path) -> None:
    mock_suite(tmp_path, {"a": "inputs: {prompt: p, files: [{path: f.txt}]}"})
    write_tree(tmp_path, {"other/f.txt": "x"})
    missing = strict_json(waza("preflight", "eval.yaml", "--json", cwd=tmp_path).out)
    assert [one["code"] for one in missing["diagnostics"]] == ["resource.file"]
    given = waza("preflight", "eval.yaml", "--json", "--context-dir", "other", cwd=tmp_path)
    assert (given.code, strict_json(given.out)["tasks"][0]["context_dir"]) == (0, "other")


def test_readers_of_results_refuse_the_report(tmp_path: Path) -> None:
    mock_suite(tmp_path, {"a": PLAIN})
    report = waza("preflight", "eval.yaml", "--json", cwd=tmp_path).out
    write_tree(tmp_path, {"p.json": report})
    for args in (("compare", "p.json", "p.json"), ("grade", "eval.yaml", "--results", "p.json")):
        refused = waza(*args, cwd=tmp_path)
        assert refused.code == 2
        assert "p.json: is a waza.preflight report, not a results file; write one with" in refused.err


@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"there are no suites in {CORPUS}")
def test_suites_of_strangers_have_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only their YAML is at hand, so files that they name are missing: that is told, and nothing breaks."""
    found = sorted(CORPUS.rglob("eval.yaml"))
    assert len(found) == len(LOADS) + len(REFUSED)
    for suite in found:
        monkeypatch.chdir(suite.parent)
        report = inventory(Path("eval.yaml"), LoadOptions())
        assert len(report.tasks) == LOADS.get(str(suite.parent.relative_to(CORPUS)), len(report.tasks))
        assert report.capabilities
        assert "\n".join(preflight_lines(report))


TASK_CODES = {
    "task.version": "id: t\ninputs: {prompt: p}\ncommand_mocks: [{name: az, responses: [{args: [x], stdout: y}]}]\n",
    "task.executor": "id: t\ninputs: {prompt: p}\nexpected: {behavior: {max_tokens: 5}}\n",
    "context.directory": "id: t\ninputs: {prompt: p}\ncontext_dir: eval.yaml\n",
    "context.path": "id: t\ninputs: {prompt: p}\ncontext_dir: gone\n",
}


@pytest.mark.parametrize(("code", "written"), TASK_CODES.items())
def test_mistakes_of_a_task_have_codes_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, written: str
):
    config = "{executor: command, executor_options: {command: cat}}"
    suite = f"name: s\nschemaVersion: '1.0'\nconfig: {config}\ntasks: [t.yaml]\n"
    write_tree(tmp_path, {"eval.yaml": suite, "t.yaml": written})
    report = report_of(tmp_path, monkeypatch)
    assert (code, "invalid") in codes(report)
    (found,) = [one for one in report.diagnostics if one.code == code]
    assert (found.source, found.task_id) == ("t.yaml", "t")


def test_what_is_deliberately_not_there_is_noted_and_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    mock = "mcp_mocks: [{name: wiki, tools: {find: {responses: [{return: {a: 1}}]}}}]"
    servers = "config: {executor: copilot-sdk, mcp_servers: {wiki: {type: stdio, command: cat}}}"
    suite = f"name: s\nschemaVersion: '2.0'\nscenario: w\n{servers}\n{mock}\ntasks: [t.yaml]\n"
    write_tree(tmp_path, {"eval.yaml": suite, "t.yaml": f"id: t\n{PLAIN}"})
    report = report_of(tmp_path, monkeypatch)
    noted = [(one.code, one.severity, one.task_id) for one in report.diagnostics if one.state == "verified"]
    assert noted == [("mock.mcp_override", "info", ""), ("skills.discovery_disabled", "info", "t")]
    lines = "\n".join(preflight_lines(report))
    assert "✓ verified mock.mcp_override" in lines
    assert "'wiki' takes the place of the configured server of this name" in lines


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("{", "mock.mcp"),
        ("[]", "mock.mcp"),
        ('{"find": 5}', "mock.mcp"),
        ('{"responses": []}', "mock.mcp"),
        ('{"responses": [{"match_regex": {"a": "("}, "return": 1}]}', "mock.mcp"),
        ('{"input_schema": {"type": 5}, "responses": [{"return": 1}]}', "mock.input_schema"),
    ],
)
def test_a_mistake_in_a_fixture_of_a_mock_is_one_of_the_mock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, code: str
):
    suite = "name: s\nconfig: {executor: copilot-sdk}\nmcp_mocks: [{name: wiki, fixtures: mocks}]\ntasks: [t.yaml]\n"
    write_tree(tmp_path, {"eval.yaml": suite, "t.yaml": f"id: t\n{PLAIN}", "mocks/find.json": content})
    report = report_of(tmp_path, monkeypatch)
    found = {(one.code, one.source) for one in report.diagnostics if one.state == "invalid"}
    assert found == {(code, "mocks/find.json")}
