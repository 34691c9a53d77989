from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.program import write_tree

from waza.errors import ExecutorError, SuiteError
from waza.model.mocks import CommandMock
from waza.suite.load import load
from waza.workspace.command_mock import MockedProgram, ProgramCall, ProgramOutput, redact_call


def program(
    *responses: dict[str, Any], home: Path = Path("/nowhere"), name: str = "kubectl"
) -> MockedProgram:
    return MockedProgram(msgspec.convert({"name": name, "responses": list(responses)}, CommandMock), home)


def call(*argv: str, cwd: str | Path = "/", **environment: str) -> ProgramCall:
    return ProgramCall(name="kubectl", argv=list(argv), cwd=str(cwd), environment=environment, session="s")


def index(mock: MockedProgram, made: ProgramCall, workspace: Path | None = None) -> int:
    return mock.answer(made, workspace).index


@pytest.mark.parametrize(
    ("argv", "matches"),
    [
        (["get", "pods"], True),
        (["get", "pods", "-o"], False),
        (["get"], False),
        (["pods", "get"], False),
        (["get", "Pods"], False),
        (["get", "pods "], False),
    ],
)
def test_args_are_the_whole_vector(argv, matches):
    assert (index(program({"args": ["get", "pods"]}), call(*argv)) == 0) is matches


def test_no_args_means_no_arguments():
    assert index(program({"args": []}), call()) == 0
    assert index(program({"args": []}), call("")) == -1
    assert index(program({"args_regex": []}), call()) == 0
    assert index(program({"args_regex": []}), call("x")) == -1


@pytest.mark.parametrize(
    ("argv", "matches"),
    [
        (["delete", "web-12"], True),
        (["delete", "web-"], False),
        (["delete", "my-web-12"], False),
        (["delete", "web-12\n"], False),
        (["delete", "web-12", "now"], False),
        (["delete"], False),
    ],
)
def test_each_regex_matches_one_whole_argument(argv, matches):
    mock = program({"args_regex": ["delete", r"web-\d+|db"]})
    assert (index(mock, call(*argv)) == 0) is matches


def test_alternatives_and_lines_stay_inside_their_argument():
    mock = program({"args_regex": ["a|ab", "(?s)x.*"]})
    assert index(mock, call("ab", "x\ny")) == 0
    assert index(mock, call("abc", "x")) == -1
    assert index(program({"args_regex": [".*"]}), call("a\nb")) == -1


def test_environment_values_are_exact():
    mock = program({"args": [], "environment": {"KUBECONFIG": "/tmp/kc", "EMPTY": ""}})
    assert index(mock, call(KUBECONFIG="/tmp/kc", EMPTY="", OTHER="x")) == 0
    assert index(mock, call(KUBECONFIG="/tmp/kc/", EMPTY="")) == -1
    assert index(mock, call(KUBECONFIG="/tmp/kc")) == -1


@pytest.mark.parametrize(
    ("workdir", "inside", "matches"),
    [
        ("deploy", "deploy", True),
        ("./deploy/", "deploy", True),
        ("deploy\\prod", "deploy/prod", True),
        ("deploy", "deploy/prod", False),
        ("deploy/prod", "deploy", False),
        (".", "", True),
        (".", "deploy", False),
        ("", "deploy", True),
    ],
)
def test_workdir_is_relative_to_the_workspace(tmp_path, workdir, inside, matches):
    (tmp_path / "ws/deploy/prod").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "ws")
    mock = program({"args": [], "workdir": workdir})
    assert (index(mock, call(cwd=tmp_path / "ws" / inside), tmp_path / "ws") == 0) is matches
    assert (index(mock, call(cwd=tmp_path / "link" / inside), tmp_path / "ws") == 0) is matches


@pytest.mark.parametrize("workspace", [None, Path("/nowhere/else")])
def test_outside_of_a_workspace_no_workdir_matches(tmp_path, workspace):
    mock = program({"args": [], "workdir": "deploy"}, {"args": [], "workdir": "."}, {"args": []})
    assert index(mock, call(cwd=tmp_path / "deploy"), workspace) == 2


def test_the_first_response_that_matches_answers():
    mock = program(
        {"args_regex": ["get", ".*"], "environment": {"A": "1"}, "stdout": "a"},
        {"args": ["get", "x"], "stdout": "b"},
        {"args_regex": ["get", ".*"], "stdout": "c"},
    )
    assert mock.answer(call("get", "x", A="1"), None) == ProgramOutput(stdout=b"a", exit_code=0, index=0)
    assert mock.answer(call("get", "x"), None) == ProgramOutput(stdout=b"b", exit_code=0, index=1)
    assert mock.answer(call("get", "y"), None) == ProgramOutput(stdout=b"c", exit_code=0, index=2)


@pytest.mark.parametrize(
    ("stdout", "written"),
    [
        ("plain", b"plain"),
        ("lines\n", b"lines\n"),
        ("<ü>", "<ü>".encode()),
        (None, b""),
        ("", b""),
        ({"b": 1.0, "a": "<ü>"}, '{"a":"\\u003cü\\u003e","b":1}'.encode()),
        ([], b"[]"),
        (False, b"false"),
        (0, b"0"),
    ],
)
def test_stdout_is_text_as_it_is_and_anything_else_as_json(stdout, written):
    assert program({"args": [], "stdout": stdout}).answer(call(), None).stdout == written


def test_stderr_exit_code_and_fixture_bytes(tmp_path):
    data = bytes(range(256)) * 10
    write_tree(tmp_path, {"fixtures/cmd/out.bin": data})
    mock = program(
        {"args": [], "fixture": "fixtures/cmd/out.bin", "stderr": "oh ü\n", "exit_code": 255}, home=tmp_path
    )
    expected = ProgramOutput(stdout=data, stderr="oh ü\n".encode(), exit_code=255, index=0)
    assert mock.answer(call(), None) == expected
    (tmp_path / "fixtures/cmd/out.bin").unlink()
    assert mock.answer(call(), None) == expected  # read when it was opened
    with pytest.raises(ExecutorError, match=r"'fixtures/cmd/out\.bin'"):
        program({"args": [], "fixture": "fixtures/cmd/out.bin"}, home=tmp_path)


def test_a_call_that_nothing_matches(monkeypatch, tmp_path):
    monkeypatch.setenv("DEPLOY_TOKEN", "hunter2-hunter2")
    mock = program({"args": ["get"]})
    output = mock.answer(call("put", "--password", "swordfish", "x-hunter2-hunter2", cwd="/some/where"), None)
    assert (output.stdout, output.exit_code, output.index) == (b"", 127, -1)
    said = output.stderr.decode()
    assert "'kubectl'" in said
    assert "put '[REDACTED]' '[REDACTED]' 'x-[REDACTED]'" in said
    assert "/some/where" in said
    assert "'responses' under command_mocks" in said
    (tmp_path / "deploy").mkdir()
    inside = mock.answer(call(cwd=tmp_path / "deploy"), tmp_path).stderr.decode()
    assert "no arguments (in the directory 'deploy')" in inside


def test_a_sequence_gives_one_step_a_matching_call(tmp_path):
    write_tree(tmp_path, {"ok.txt": "fine"})
    steps = [{"stderr": "try again", "exit_code": 1, "delay_ms": 1500}, {"fixture": "ok.txt"}]
    mock = program(
        {"args": ["put"], "sequence": steps}, {"args_regex": [".*"], "stdout": "other"}, home=tmp_path
    )
    assert mock.answer(call("put"), None) == ProgramOutput(
        stderr=b"try again", exit_code=1, index=0, delay=1.5
    )
    assert mock.answer(call("get"), None).index == 1
    assert mock.answer(call("put"), None) == ProgramOutput(stdout=b"fine", exit_code=0, index=0)
    for _ in range(2):
        output = mock.answer(call("put"), None)
        assert (output.stdout, output.exit_code, output.index) == (b"", 127, 0)
        assert b"'kubectl': fault sequence exhausted" in output.stderr


@pytest.mark.parametrize(
    ("argv", "clean"),
    [
        (["--token", "abc", "x"], ["[REDACTED]", "[REDACTED]", "x"]),
        (["--api_key=abc", "-n", "prod"], ["--api_key=[REDACTED]", "-n", "prod"]),
        (["Authorization: Bearer abcdefghijklmnopqrst"], ["Authorization: [REDACTED]"]),
        (["mail", "someone@example.com"], ["mail", "[REDACTED]"]),
        (["pre-s3cr3t-value"], ["pre-[REDACTED]"]),
        (["apply", "-f", "deploy.yaml"], ["apply", "-f", "deploy.yaml"]),
        ([], []),
    ],
)
def test_recorded_arguments_hold_no_secrets(argv, clean):
    assert redact_call(call(*argv, MY_PASSWORD="s3cr3t-value")) == clean


# The rules of declarations, through the loader.

SCENARIO = 'schemaVersion: "2.0"\nscenario: flow\n'
RESPONSE = "command_mocks[0].responses[0]"


GRADED = "graders: [{type: text, config: {contains: [a]}}]\n"


def problems(
    root: Path, mocks: str, head: str = "", executor: str = "copilot-sdk", task: str = ""
) -> list[str]:
    """What the loader says of a suite with these mocks: errors, else warnings; without the place."""
    key = f"command_mocks:\n{mocks}\n" if mocks else ""
    suite = f"{head}name: s\nconfig: {{executor: {executor}, model: m}}\ntasks: [t.yaml]\n{key}"
    write_tree(
        root,
        {
            "eval.yaml": suite,
            "t.yaml": f"id: t\ninputs: {{prompt: hi}}\n{GRADED}{task}",
            "there/file.bin": b"\0",
        },
    )
    try:
        found = load(root / "eval.yaml").warnings
    except SuiteError as error:
        found = error.problems
    return [str(msgspec.structs.replace(problem, file="", line=0))[2:] for problem in found]


def response(text: str) -> str:
    return f"- {{name: az, responses: [{text}]}}"


def assert_said(found: list[str], starts: list[str]) -> None:
    assert len(found) == len(starts), found
    for line, start in zip(found, starts, strict=True):
        assert line.startswith(f"{RESPONSE}{start}")


BAD_PATTERN = ".args_regex[0]: the pattern '(' cannot be used"
EITHER = ": needs either 'args' or 'args_regex'"


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("{args: []}", []),
        ("{args: [1, 1.10, true]}", []),
        ("{}", [EITHER]),
        ("{args: }", [EITHER]),
        ("{args: [a], args_regex: [a]}", [EITHER]),
        ("{args_regex: ['(', 'a)(b']}", [BAD_PATTERN, ".args_regex[1]: the pattern 'a)(b' cannot be used"]),
        ("{args: [], fixture: there/file.bin, exit_code: 255, stderr: x}", []),
        ("{args: [], fixture: there/file.bin, stdout: x}", [": has both 'stdout' and 'fixture'; keep one"]),
        ("{args: [], fixture: there/file.bin, stdout: }", []),
        ("{args: [], fixture: nope}", [".fixture: there is no file 'nope' beside the suite"]),
        ("{args: [], fixture: there}", [".fixture: there is no file 'there' beside the suite"]),
        ("{args: [], fixture: ''}", [".fixture: there is no file '' beside the suite"]),
        ("{args: [], fixture: /etc/passwd}", [".fixture: the path '/etc/passwd' is absolute"]),
        (
            "{args: [], fixture: there/../there/file.bin}",
            [".fixture: the path 'there/../there/file.bin' climbs"],
        ),
        ('{args: [], fixture: "\\\\x"}', [".fixture: the path '\\\\x' is absolute"]),
        ("{args: [], fixture: 'c:x'}", [".fixture: the path 'c:x' is absolute"]),
        ("{args: [], workdir: ../x}", [".workdir: the path '../x' climbs"]),
        ("{args: [], workdir: /x}", [".workdir: the path '/x' is absolute"]),
        ("{args: [], exit_code: 256}", [".exit_code: is 256"]),
        ("{args: [], exit_code: -1}", [".exit_code: is -1"]),
        (
            "{args: [], exit_code: 1.5}",
            [".exit_code: must be a whole number of at least 0, not the number 1.5"],
        ),
        ("{args: [], environment: {' ': a}}", [".environment: ' ' is not a valid variable name"]),
        ("{args: [], environment: {A=B: a}}", [".environment: 'A=B' is not a valid variable name"]),
        ('{args: [], environment: {"A\\0": a}}', [".environment: 'A\\x00' is not a valid variable name"]),
        ("{args: [], delay_ms: 5}", [".delay_ms: unknown key 'delay_ms'"]),
        ("{args: [], sequence: [{stdout: x}]}", [".sequence: 'sequence' needs a scenario suite"]),
    ],
)
def test_rules_of_a_response(tmp_path, text, starts):
    assert_said(problems(tmp_path, response(text)), starts)


BESIDE = "cannot be combined with 'sequence'"


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        (
            "{args: [], sequence: [{stdout: x, delay_ms: 5}, {stderr: y, exit_code: 0}, {fixture: there/file.bin}]}",
            [],
        ),
        ("{args: [], sequence: []}", [".sequence: has no step"]),
        ("{args: [], sequence: ~}", [".sequence: has no step"]),
        ("{args: [], sequence: [{}]}", [".sequence[0]: needs one of: stdout, stderr, exit_code, fixture"]),
        ("{args: [], sequence: [{delay_ms: 1}]}", [".sequence[0]: needs one of"]),
        (
            "{args: [], stdout: , stderr: '', exit_code: 0, sequence: [{stdout: x}]}",
            [
                f".stdout: 'stdout' {BESIDE}",
                f".stderr: 'stderr' {BESIDE}",
                f".exit_code: 'exit_code' {BESIDE}",
            ],
        ),
        ("{args: [], fixture: , sequence: [{stdout: x}]}", [f".fixture: 'fixture' {BESIDE}"]),
        (
            "{args: [], sequence: [{stderr: }, {exit_code: }, {fixture: }, {stdout: , delay_ms: }]}",
            [
                ".sequence[0].stderr: must not be empty",
                ".sequence[1].exit_code: must not be empty",
                ".sequence[2].fixture: must not be empty",
                ".sequence[3].delay_ms: must not be empty",
            ],
        ),
        (
            "{args: [], sequence: [{stdout: x, fixture: there/file.bin}, {fixture: nope}, {fixture: ../x}]}",
            [
                ".sequence[0]: has both 'stdout' and 'fixture'",
                ".sequence[1].fixture: there is no file 'nope'",
                ".sequence[2].fixture: the path '../x' climbs",
            ],
        ),
        (
            "{args: [], sequence: [{exit_code: 1.0}, {stdout: x, delay_ms: 2.0}]}",
            [
                ".sequence[0].exit_code: must be a whole number, not 1.0",
                ".sequence[1].delay_ms: must be a whole number, not 2.0",
            ],
        ),
        ("{args: [], sequence: [{exit_code: 300}]}", [".sequence[0].exit_code: is 300"]),
        ("{args: [], sequence: [{stdout: x, args: []}]}", [".sequence[0].args: unknown key 'args'"]),
    ],
)
def test_rules_of_sequences(tmp_path, text, starts):
    assert_said(problems(tmp_path, response(text), SCENARIO), starts)


def test_rules_of_names(tmp_path):
    names = ["az", "Az", "' az'", "9z.A-b_c", "-az", "a/b", "ä", "."]
    found = problems(tmp_path, "\n".join(f"- {{name: {name}, responses: [{{args: []}}]}}" for name in names))
    assert found == [
        "command_mocks[1].name: duplicate mock 'az'",
        "command_mocks[2].name: duplicate mock 'az'",
        *(
            f"command_mocks[{i}].name: {name} is not a valid program name; use letters, digits, '.', '_', '-'"
            for i, name in ((2, "' az'"), (4, "'-az'"), (5, "'a/b'"), (6, "'ä'"), (7, "'.'"))
        ),
    ]


def test_a_mock_needs_responses_and_whole_counts(tmp_path):
    assert problems(tmp_path, "- {name: az}\n- {name: gh, responses: [{args: []}], expect_calls: 0}") == [
        "command_mocks[0]: has no responses"
    ]
    [said] = problems(tmp_path, "- {name: gh, responses: [{args: []}], expect_calls: -1}")
    assert said.startswith("command_mocks[0].expect_calls: is -1")


@pytest.mark.parametrize("where", ["suite", "task"])
@pytest.mark.parametrize("mocks", ["[]", "[{name: az, responses: [{args: []}]}]"])
def test_what_command_mocks_need(tmp_path, where, mocks):
    key = f"command_mocks: {mocks}\n"

    def said(head: str = "", executor: str = "copilot-sdk") -> list[str]:
        if where == "suite":
            return problems(tmp_path, "", head + key, executor)
        return problems(tmp_path, "", head, executor, task=key)

    assert said('schemaVersion: "1.2"\n') == ["command_mocks: needs schemaVersion 1.3 or newer"]
    lack = "command_mocks: needs mocked programs, which the executor 'mock' does not offer"
    assert said(executor="mock") == [
        f"{lack}; use executor: chat, claude, command or copilot-sdk, or remove it"
    ]
    assert said('schemaVersion: "1.3"\n') == []
    assert said(SCENARIO) == []


def test_fixtures_of_a_task_are_relative_to_the_suite(tmp_path):
    key = 'command_mocks: [{name: az, responses: [{args: [], fixture: "there/file.bin"}]}]\n'
    assert problems(tmp_path, "", task=key) == []
    suite = tmp_path / "eval.yaml"
    write_tree(tmp_path, {"deep/t.yaml": (tmp_path / "t.yaml").read_bytes()})
    suite.write_text(suite.read_text(encoding="utf-8").replace("t.yaml", "deep/*.yaml"), encoding="utf-8")
    assert load(suite).tasks[0].command_mocks[0].responses[0].fixture == "there/file.bin"


def test_a_hook_may_still_create_the_fixture(tmp_path):
    head = "hooks: {before_run: [{command: ./make-fixtures}]}\n"
    assert problems(tmp_path, response("{args: [], fixture: nope}"), head) == [
        f"{RESPONSE}.fixture: warning: there is no file 'nope' beside the suite; a before_run hook may create it"
    ]


def test_a_pipe_is_no_fixture(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert_said(
        problems(tmp_path, response("{args: [], fixture: pipe}")), [".fixture: there is no file 'pipe'"]
    )


@pytest.mark.parametrize("head", ["", SCENARIO])
def test_unknown_keys_are_errors(tmp_path, head):
    assert problems(tmp_path, response("{args: [], stdot: x}"), head) == [
        f"{RESPONSE}.stdot: unknown key 'stdot'; did you mean 'stdout'?"
    ]


def test_mocks_count_in_the_digest_of_a_task(tmp_path):
    """A changed answer is another task: results are not taken from the cache, and a run is not resumed."""

    def digest(text: str) -> str:
        assert problems(tmp_path, response(text), SCENARIO) == []
        return load(tmp_path / "eval.yaml").tasks[0].digest

    texts = ["{args: [], sequence: [{stdout: x}]}", "{args: [], sequence: [{stdout: y}]}", "{args: []}"]
    assert len({digest(text) for text in texts}) == len(texts)
