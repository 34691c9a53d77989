from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.program import strict_json, write_tree

from waza.errors import ExecutorError, SuiteError
from waza.kit.decode import Decoder, Document
from waza.kit.yaml import load as load_yaml
from waza.model.mocks import McpMock, McpTool
from waza.suite.load import load
from waza.workspace.fixtures import load_tools
from waza.workspace.mcp_mock import McpServer, go_text


def server(*responses: dict[str, Any], name: str = "tracker") -> McpServer:
    return McpServer(name, {"find": msgspec.convert({"responses": list(responses)}, McpTool)})


def answered(mock: McpServer, line: bytes) -> Any:
    reply = mock.answer(line)
    assert reply is not None
    assert b"\n" not in reply.line
    return strict_json(reply.line)


def ask(mock: McpServer, method: str, params: Any = None, number: Any = 1) -> Any:
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    answer = answered(mock, json.dumps(message).encode())
    assert (answer["jsonrpc"], answer["id"]) == ("2.0", number)
    return answer


def call(mock: McpServer, arguments: Any = None, tool: str = "find") -> tuple[bool, str]:
    """Whether a call ended in a tool error, and its text."""
    result = ask(mock, "tools/call", {"name": tool, "arguments": arguments})["result"]
    [content] = result["content"]
    assert content["type"] == "text"
    return result.get("isError", False), content["text"]


def fits(response: dict[str, Any], arguments: dict[str, Any]) -> bool:
    is_error, text = call(server({**response, "return": "yes"}), arguments)
    assert is_error == (text != '"yes"')
    return not is_error


EQUAL: list[tuple[Any, Any, bool]] = [
    (1, 1.0, True),
    (1.0, 1, True),
    (1, True, False),
    (0, False, False),
    (1, "1", False),
    (None, False, False),
    ("", None, False),
    (-0.0, 0, True),
    (0.1, 0.1, True),
    (2**53, 2**53 + 1, False),
    (1e300, 10**300, False),  # a double and the whole number beside it
    ({"a": 1, "b": [1, {"c": None}]}, {"b": [1.0, {"c": None}], "a": 1.0}, True),
    ([1, 2], [2, 1], False),
    ({"a": 1}, {"a": 1, "b": None}, False),
    ("ü", "u\u0308", False),
]


@pytest.mark.parametrize(("wanted", "given", "equal"), EQUAL)
def test_match_is_full_equality_of_json_values(wanted, given, equal):
    assert fits({"match": {"x": wanted}}, {"x": given}) is equal


def test_match_takes_no_part_of_the_arguments():
    assert fits({"match": {"x": 1}}, {"x": 1})
    assert not fits({"match": {"x": 1}}, {"x": 1, "y": 2})
    assert not fits({"match": {"x": 1, "y": 2}}, {"x": 1})
    assert not fits({"match": {"x": 1}}, {})


GO: list[tuple[Any, str]] = [
    ("text", "text"),
    ("", ""),
    (True, "true"),
    (False, "false"),
    (None, "<nil>"),
    (5, "5"),
    (5.0, "5"),
    (-7.25, "-7.25"),
    (0, "0"),
    (0.1, "0.1"),
    (0.0001, "0.0001"),
    (0.00001, "1e-05"),
    (0.000012345, "1.2345e-05"),
    (100000, "100000"),
    (999999, "999999"),
    (1000000, "1e+06"),
    (1234567, "1.234567e+06"),
    (12345678.5, "1.23456785e+07"),
    (1e21, "1e+21"),
    (1e100, "1e+100"),
    (2**53 + 1, "9.007199254740992e+15"),
    ([], "[]"),
    ([1, "b c", None], "[1 b c <nil>]"),
    ({}, "map[]"),
    ({"b": 1, "a": [True, {"z": "y"}]}, "map[a:[true map[z:y]] b:1]"),
]


@pytest.mark.parametrize(("value", "text"), GO)
def test_regexes_see_values_as_go_prints_them(value, text):
    assert go_text(value) == text


def test_match_regex_searches_every_listed_argument():
    response = {"match_regex": {"id": "X-[0-9]", "n": "^5$"}}
    assert fits(response, {"id": "see X-1, please", "n": 5, "other": "left alone"})
    assert not fits(response, {"id": "x-1", "n": 5})
    assert not fits(response, {"id": "X-1", "n": 55})
    assert not fits(response, {"id": "X-1"})
    assert fits({"match_regex": {"id": ""}}, {"id": None})
    assert not fits({"match_regex": {"id": ""}}, {})


def test_match_schema_validates_all_arguments():
    response = {"match_schema": {"required": ["id"], "properties": {"id": {"type": "integer"}}}}
    assert fits(response, {"id": 1.0, "more": "x"})
    assert not fits(response, {"id": "1"})
    assert not fits(response, {})


def test_matchers_of_one_response_must_all_fit():
    response = {
        "match": {"id": "X-1"},
        "match_regex": {"id": "^X"},
        "match_schema": {"properties": {"id": {"maxLength": 3}}},
    }
    assert fits(response, {"id": "X-1"})
    for spoiled in (
        {"match": {"id": "Y"}},
        {"match_regex": {"id": "^Y"}},
        {"match_schema": {"maxProperties": 0}},
    ):
        assert not fits({**response, **spoiled}, {"id": "X-1"})


@pytest.mark.parametrize(
    "response", [{}, {"match": {}}, {"match": {}, "match_regex": {}, "match_schema": {}}]
)
@pytest.mark.parametrize("arguments", [{}, {"x": 1}])
def test_without_a_matcher_that_says_something_everything_matches(response, arguments):
    assert fits(response, arguments)


def test_the_first_response_that_matches_answers():
    mock = server({"match": {"id": 1}, "return": "a"}, {"return": "b"}, {"match": {"id": 2}, "return": "c"})
    assert [call(mock, {"id": n}) for n in (1, 2, 1)] == [(False, '"a"'), (False, '"b"'), (False, '"a"')]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1.0, "a": "<b> & ü"}, r'{"a":"\u003cb\u003e \u0026 ü","b":1}'),
        ("plain", '"plain"'),
        ("a\nb\u2028", r'"a\nb\u2028"'),
        (None, "null"),
        ([1.5, True, {}], "[1.5,true,{}]"),
        (12345678901234567890, "12345678901234567890"),
        (1e20, "100000000000000000000"),
        (1.5e-7, "1.5e-7"),
        (0.00001, "0.00001"),
        (1e21, "1e+21"),
    ],
)
def test_a_value_is_sent_as_compact_json(value, text):
    assert call(server({"return": value})) == (False, text)


def test_a_response_without_output_returns_null():
    assert call(server({"match": {}})) == (False, "null")


def test_an_error_names_mock_and_tool_and_wins_over_a_value():
    is_error, text = call(server({"error": "503 try again", "return": 1}))
    assert is_error
    assert text == "MCP mock 'tracker', tool 'find': 503 try again"
    assert call(server({"error": " ", "return": 1})) == (False, "1")


def test_what_is_missing_is_named_and_arguments_are_not_repeated():
    mock = server({"match": {"id": "T-1"}, "return": 1})
    is_error, text = call(mock, {"id": "hunter2"})
    assert is_error
    assert "'tracker'" in text
    assert "tools.find.responses" in text
    assert "hunter2" not in text
    is_error, text = call(mock, {"id": "hunter2"}, tool="lookup")
    assert is_error
    assert "'tracker', tool 'lookup'" in text
    assert "add a fixture" in text
    assert "hunter2" not in text


def test_a_sequence_gives_one_step_a_matching_call():
    steps = [{"error": "503", "delay_ms": 50}, {"return": {"ok": True}}]
    mock = server({"match": {"key": "a"}, "sequence": steps}, {"return": "other"})
    assert call(mock, {"key": "b"}) == (False, '"other"')
    line = b'{"id": 1, "method": "tools/call", "params": {"name": "find", "arguments": {"key": "a"}}}'
    first = mock.answer(line)
    assert first is not None
    assert first.delay == 0.05
    assert b"503" in first.line
    assert call(mock, {"key": "b"}) == (False, '"other"')
    assert call(mock, {"key": "a"}) == (False, '{"ok":true}')
    for _ in range(2):
        assert call(mock, {"key": "a"}) == (True, "MCP mock 'tracker', tool 'find': fault sequence exhausted")


def test_notifications_take_no_step():
    mock = server({"sequence": [{"return": 1}]})
    assert mock.answer(b'{"method": "tools/call", "params": {"name": "find"}}') is None
    assert call(mock) == (False, "1")
    assert call(mock)[0]


def test_initialize_and_ping():
    result = ask(server({}, name="tracker"), "initialize", {"protocolVersion": "2025-06-18"})["result"]
    assert result == {
        "protocolVersion": "2024-11-05",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "tracker", "version": "0.0.0-mock"},
    }
    assert ask(server({}), "ping")["result"] == {}


def test_tools_are_listed_by_name():
    schema = {"type": "object", "required": ["id"]}
    tools = {
        "b": McpTool(description="B", input_schema=schema),
        "a": McpTool(),
        "B": McpTool(),
    }
    listed = ask(McpServer("m", tools), "tools/list")["result"]["tools"]
    assert listed == [
        {"name": "B", "description": "", "inputSchema": {"type": "object"}},
        {"name": "a", "description": "", "inputSchema": {"type": "object"}},
        {"name": "b", "description": "B", "inputSchema": schema},
    ]


@pytest.mark.parametrize("number", [0, -1, 1.5, "x", None])
def test_ids_come_back_as_they_were(number):
    assert ask(server({}), "ping", number=number)["result"] == {}


REFUSED = [
    (b"{", -32700, None),
    (b"nonsense", -32700, None),
    (b'{"id": 1, "method": "ping"} {}', -32700, None),
    (b'{"id": 1, "method": "ping", "params": NaN}', -32700, None),
    (b"\xff", -32700, None),
    (b"[" * 5000 + b"]" * 5000, -32700, None),
    (b"[]", -32600, None),
    (b'[{"id": 1, "method": "ping"}]', -32600, None),
    (b'"ping"', -32600, None),
    (b'{"id": 1}', -32600, 1),
    (b'{"id": 1, "method": 5}', -32600, 1),
    (b'{"id": 1, "method": "resources/list"}', -32601, 1),
    (b'{"id": 1, "method": "tools/call"}', -32602, 1),
    (b'{"id": 1, "method": "tools/call", "params": []}', -32602, 1),
    (b'{"id": 1, "method": "tools/call", "params": {"name": 5}}', -32602, 1),
    (b'{"id": 1, "method": "tools/call", "params": {"name": "find", "arguments": []}}', -32602, 1),
    (b'{"id": 1, "method": "tools/call", "params": {"name": "find", "arguments": "x"}}', -32602, 1),
    (b'{"id": 1, "method": "tools/call", "params": {"name": "find", "arguments": false}}', -32602, 1),
]


@pytest.mark.parametrize(("line", "code", "number"), REFUSED)
def test_what_is_no_proper_request_is_refused(line, code, number):
    answer = answered(server({}), line)
    assert (answer["error"]["code"], answer["id"]) == (code, number)
    assert answer["error"]["message"]


@pytest.mark.parametrize(
    "line",
    [
        b'{"method": "notifications/initialized"}',
        b'{"method": "no/such"}',
        b"{}",
        b'{"id": 1, "result": {}}',
        b'{"id": 1, "error": {"code": 1}}',
    ],
)
def test_notifications_and_answers_get_no_reply(line):
    assert server({}).answer(line) is None


@pytest.mark.parametrize("params", [{"name": "find"}, {"name": "find", "arguments": None}])
def test_missing_arguments_are_an_empty_object(params):
    mock = server({"match_schema": {"maxProperties": 0}, "return": 1})
    assert ask(mock, "tools/call", params)["result"] == {"content": [{"type": "text", "text": "1"}]}


def tool(value: Any) -> str:
    return json.dumps({"responses": [{"return": value}]})


def outputs(mock: McpMock, home: Path) -> dict[str, Any]:
    return {name: found.responses[0].returns for name, found in load_tools(mock, home).items()}


def test_fixtures_are_walked_and_bundles_opened(tmp_path):
    write_tree(
        tmp_path,
        {
            "mcp/find.json": tool(1),
            "mcp/deep/er/list.all.json": tool(2),
            "mcp/z.json": json.dumps({"tools": {"one": json.loads(tool(3)), "two": json.loads(tool(4))}}),
            "mcp/.git/x.json": tool(5),
            "mcp/notes.txt": "no JSON",
            "mcp/.hidden.json": tool(6),
        },
    )
    (tmp_path / "elsewhere").mkdir()
    write_tree(tmp_path, {"elsewhere/linked.json": tool(7)})
    (tmp_path / "mcp" / "link").symlink_to(tmp_path / "elsewhere")
    found = outputs(McpMock(name="m", fixtures="mcp"), tmp_path)
    assert found == {".hidden": 6, "find": 1, "list.all": 2, "one": 3, "two": 4}
    assert outputs(McpMock(name="m", fixtures=str(tmp_path / "mcp")), Path("/nowhere")) == found


def test_later_files_and_the_suite_itself_replace_tools(tmp_path):
    write_tree(tmp_path, {"mcp/b/x.json": tool(1), "mcp/a.json": '{"tools": {"x": {"description": "a"}}}'})
    mock = McpMock(name="m", fixtures="mcp")
    assert load_tools(mock, tmp_path)["x"].description == ""
    inline = McpTool(description="inline")
    assert load_tools(msgspec.structs.replace(mock, tools={"x": inline}), tmp_path) == {"x": inline}


def test_an_empty_tools_object_makes_no_bundle(tmp_path):
    write_tree(tmp_path, {"mcp/find.json": '{"tools": {}, "responses": [{"return": 1}]}'})
    assert outputs(McpMock(name="m", fixtures="mcp"), tmp_path) == {"find": 1}


def test_a_fixture_file_is_json_and_not_yaml(tmp_path):
    """Surrogate pairs, escaped slashes and a byte order mark are JSON that YAML readers stumble on."""
    data = b'\xef\xbb\xbf{"responses":[\t{"return":"\\ud83d\\ude00 a\\/b"}]}'
    write_tree(tmp_path, {"mcp/find.json": data})
    assert outputs(McpMock(name="m", fixtures="mcp"), tmp_path) == {"find": "😀 a/b"}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "not valid JSON"),
        ("[1]", "must be a mapping of keys, not a list"),
        ('{"responses": 5}', "must be a list, not"),
        (None, "holds no fixture"),
    ],
)
def test_fixtures_that_became_unusable_are_reported_when_they_are_opened(tmp_path, content, says):
    (tmp_path / "mcp").mkdir()
    if content is not None:
        (tmp_path / "mcp" / "find.json").write_text(content, encoding="utf-8")
    with pytest.raises(ExecutorError, match=says):
        load_tools(McpMock(name="m", fixtures="mcp"), tmp_path)


def test_fixtures_that_are_gone_are_reported_when_they_are_opened(tmp_path):
    with pytest.raises(ExecutorError, match="No such file"):
        load_tools(McpMock(name="m", fixtures="mcp"), tmp_path)


# The rules of declarations, through the loader.

SCENARIO = 'schemaVersion: "2.0"\nscenario: flow\n'


def problems(
    root: Path, mocks: str, head: str = "", files: dict[str, str | bytes] | None = None
) -> list[str]:
    """What the loader says of a suite with these mocks: errors, else warnings; without the place in the suite."""
    suite = (
        f"{head}name: s\nconfig: {{executor: copilot-sdk, model: m}}\ntasks: [t.yaml]\nmcp_mocks:\n{mocks}\n"
    )
    write_tree(
        root,
        {
            "eval.yaml": suite,
            "t.yaml": "{id: t, inputs: {prompt: hi}, graders: [{type: text, config: {contains: [a]}}]}",
            **(files or {}),
        },
    )
    try:
        found = load(root / "eval.yaml").warnings
    except SuiteError as error:
        found = error.problems
    return [
        msgspec.structs.replace(problem, file=Path(problem.file).name, line=0, column=0).__str__()
        for problem in found
    ]


def response(text: str) -> str:
    return f"- {{name: m, tools: {{t: {{responses: [{text}]}}}}}}"


RESPONSE = "eval.yaml: mcp_mocks[0].tools.t.responses[0]"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{return: 1}", []),
        ("{}", []),
        ("{error: x, match: {a: 1}}", []),
        ("{return: 1, error: x}", [": warning: has both 'return' and 'error'; the error is sent"]),
        (
            "{return: 1, delay_ms: 5}",
            [
                (
                    ".delay_ms: unknown key 'delay_ms'; "
                    "known: error, match, match_regex, match_schema, return, sequence"
                )
            ],
        ),
        (
            "{sequence: [{return: 1}]}",
            [".sequence: 'sequence' needs a scenario suite; declare scenario: and schemaVersion: '2.0'"],
        ),
        (
            "{match_regex: {x: '['}}",
            [
                (
                    ".match_regex.x: the pattern '[' cannot be used: a character class is not closed; "
                    "add `]`, or write `\\[` for the sign itself"
                )
            ],
        ),
    ],
)
def test_rules_of_a_response(tmp_path, text, says):
    assert problems(tmp_path, response(text)) == [RESPONSE + line for line in says]


def test_a_schema_must_compile(tmp_path):
    [said] = problems(tmp_path, response("{match_schema: {type: strin}}"))
    assert said.startswith(f"{RESPONSE}.match_schema: the JSON Schema cannot be used")


BESIDE = "cannot be combined with 'sequence'; move it into the steps"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{match: {a: 1}, sequence: [{return: null}, {error: x, delay_ms: 5}]}", []),
        ("{sequence: []}", [".sequence: has no step"]),
        ("{sequence: }", [".sequence: has no step"]),
        (
            "{sequence: [{return: 1}], return: , error: ''}",
            [f".return: 'return' {BESIDE}", f".error: 'error' {BESIDE}"],
        ),
        ("{sequence: [{}]}", [".sequence[0]: needs one of: return, error"]),
        ("{sequence: [{delay_ms: 5}]}", [".sequence[0]: needs one of: return, error"]),
        ("{sequence: [{return: , error: x}]}", [".sequence[0]: has both 'return' and 'error'; keep one"]),
        ("{sequence: [{error: ' '}, {error: }]}", [
            ".sequence[0].error: must not be empty",
            ".sequence[1].error: must not be empty",
        ]),
        ("{sequence: [{return: 1, delay_ms: }]}", [".sequence[0].delay_ms: must not be empty"]),
        (
            "{sequence: [{return: 1, delay_ms: -1}, {return: 1, delay_ms: 1.5}, {return: 1, delay_ms: soon}]}",
            [
                ".sequence[0].delay_ms: is -1",
                ".sequence[1].delay_ms: must be a whole number of at least 0, not the number 1.5",
                ".sequence[2].delay_ms: must be a whole number of at least 0, not the text 'soon'",
            ],
        ),
        ("{sequence: [{return: 1, delay_ms: 9223372036855}]}", [".sequence[0].delay_ms: is 9223372036855"]),
        ("{sequence: [{return: 1, delay_ms: 9223372036854}]}", []),
        (
            "{sequence: [{return: 1, match: {a: 1}}, {return: 1, sequence: []}, {retrun: 1}]}",
            [
                ".sequence[0].match: unknown key 'match'; known: delay_ms, error, return",
                ".sequence[1].sequence: unknown key 'sequence'; known: delay_ms, error, return",
                ".sequence[2].retrun: unknown key 'retrun'; did you mean 'return'?",
            ],
        ),
        ("{sequence: {return: 1}}", [".sequence: must be a list, not a mapping; start each item with '- '"]),
        (
            "{return: 1, delay_ms: 5}",
            [
                ".delay_ms: unknown key 'delay_ms'; known: error, match, match_regex, match_schema, return, sequence",
            ],
        ),
    ],
)  # fmt: skip
def test_rules_of_sequences(tmp_path, text, says):
    found = problems(tmp_path, response(text), SCENARIO)
    assert len(found) == len(says)
    assert all(line.startswith(RESPONSE + start) for line, start in zip(found, says, strict=True))


def test_servers_need_a_name_of_their_own_and_tools(tmp_path):
    said = problems(
        tmp_path,
        "- {name: a}\n- {name: ' a ', tools: {t: {}}}\n- {name: b, fixtures: nope}\n- {name: c, fixtures: empty}\n",
        files={"empty/readme.txt": ""},
    )
    assert said == [
        "eval.yaml: mcp_mocks[0]: has no tool; add 'tools', or a 'fixtures' directory",
        "eval.yaml: mcp_mocks[1].name: duplicate mock 'a'",
        "eval.yaml: mcp_mocks[1].tools.t: has no responses",
        "eval.yaml: mcp_mocks[2].fixtures: there is no directory 'nope' beside the suite",
        "eval.yaml: mcp_mocks[3].fixtures: has no tool; add .json files, one a tool",
    ]
    assert problems(tmp_path, "- {name: ' ', tools: {}}") == [
        "eval.yaml: mcp_mocks[0].name: must not be empty"
    ]


def test_mistakes_in_fixtures_are_found_when_the_suite_is_loaded(tmp_path):
    files: dict[str, str | bytes] = {
        "mcp/a.json": '{\n  "responses": [,]\n}',
        "mcp/b.json": '{"responses": [{"match_regex": {"x": "("}}]}',
        "mcp/bundle.json": '{"tools": {"c": {"responses": []}, "d": {"responses": 5}}}',
        "mcp/e.json": "{}",
        "mcp/inline.json": "{}",
        "mcp/twice.json": '{"responses": [], "responses": []}',
        "mcp/utf.json": b"\xff",
    }
    said = problems(
        tmp_path, "- {name: m, fixtures: mcp, tools: {inline: {responses: [{return: 1}]}}}", files=files
    )
    assert said[:2] == [
        "a.json: not valid JSON: a value is missing before this comma",
        (
            "b.json: responses[0].match_regex.x: the pattern '(' cannot be used: a group is not closed; "
            "add `)`, or write `\\(` for the sign itself"
        ),
    ]
    assert said[2] == "bundle.json: tools.c: has no responses"
    assert said[3].startswith("bundle.json: tools.d.responses: must be a list, not the number 5")
    assert said[4:6] == [
        "e.json: has no responses",
        "twice.json: duplicate key 'responses', on lines 1 and 1; keep one of them",
    ]
    assert said[6].startswith("utf.json: the file is not UTF-8 text")
    assert len(said) == 7


@pytest.mark.parametrize("head", ["", SCENARIO])
def test_unknown_keys_of_fixtures_are_errors(head, tmp_path):
    files: dict[str, str | bytes] = {"mcp/a.json": '{"inputSchema": {}, "responses": [{"retrun": 1}]}'}
    assert problems(tmp_path, "- {name: m, fixtures: mcp}", head, files=files) == [
        "a.json: inputSchema: unknown key 'inputSchema'; did you mean 'input_schema'?",
        "a.json: responses[0].retrun: unknown key 'retrun'; did you mean 'return'?",
    ]


def test_a_hook_may_still_create_the_fixtures(tmp_path):
    head = "hooks: {before_run: [{command: ./make-fixtures}]}\n"
    assert problems(tmp_path, "- {name: m, fixtures: mcp}", head) == [
        (
            "eval.yaml: mcp_mocks[0].fixtures: warning: there is no directory 'mcp' beside the suite; "
            "a before_run hook may create it"
        )
    ]


def test_a_pipe_is_no_fixture(tmp_path):
    import os

    (tmp_path / "mcp").mkdir()
    os.mkfifo(tmp_path / "mcp" / "a.json")
    assert problems(tmp_path, "- {name: m, fixtures: mcp}") == ["a.json: is no regular file, so no fixture"]


def test_the_models_read_what_yaml_says():
    """`return: null` in a step is a value that was given, and texts keep their source."""
    text = b"{name: m, tools: {t: {responses: [{sequence: [{return: null}, {error: 1.10}]}]}}}"
    decoder = Decoder(Document("x", load_yaml(text)))
    mock = decoder.read(McpMock)
    assert decoder.problems == []
    assert mock is not None
    steps = mock.tools["t"].responses[0].sequence
    assert steps is not None
    assert [(step.returns, step.error) for step in steps] == [(None, ""), (None, "1.10")]
