"""Scripts of the mock executor, and mocked servers and programs, that cannot be used."""

from __future__ import annotations

from tests.e2e.broken.case import SUITE, Case, case

CASES: list[Case] = [
    case(
        "the schema of a tool's input",
        "eval.yaml:4:35: mcp_mocks[0].tools.t.input_schema: the JSON Schema cannot be used: /type: \"zzz\" is not valid under any of the schemas listed in the 'anyOf' keyword",
        suite=SUITE.replace("mock", "copilot-sdk")
        + "mcp_mocks: [{name: m, tools: {t: {input_schema: {type: zzz}, responses: [{return: 1}]}}}]\n",
    ),
    case(
        "command mocks with the mock executor",
        "eval.yaml:4:1: command_mocks: needs mocked programs, which the executor 'mock' does not offer; use executor: chat, claude, command or copilot-sdk, or remove it",
        suite=SUITE + "command_mocks: []\n",
    ),
    case(
        "mcp mocks",
        "eval.yaml:5:5: mcp_mocks[0]: has no tool; add 'tools', or a 'fixtures' directory",
        "eval.yaml:6:6: mcp_mocks[1].name: duplicate mock 'a'",
        "eval.yaml:6:15: mcp_mocks[1].fixtures: there is no directory 'nope' beside the suite",
        "eval.yaml:9:7: mcp_mocks[2].tools.t: has no responses",
        "eval.yaml:10:38: mcp_mocks[2].tools.u.responses[0].match_regex.x: the pattern '(?=a)' cannot be used: look-ahead `(?=` is not available in RE2; match the surrounding text itself, or write two patterns, one that must match and one that must not",
        "eval.yaml:10:64: mcp_mocks[2].tools.u.responses[1].sequence: 'sequence' needs a scenario suite; declare scenario: and schemaVersion: '2.0'",
        suite=SUITE
        + """\
mcp_mocks:
  - {name: a}
  - {name: a, fixtures: nope}
  - name: c
    tools:
      t: {responses: []}
      u: {responses: [{match_regex: {x: '(?=a)'}, return: 1}, {sequence: [{return: 1}]}]}
""",
    ),
    case(
        "command mocks",
        "eval.yaml:5:6: command_mocks[0].name: 'a b' is not a valid program name; use letters, digits, '.', '_', '-'",
        "eval.yaml:6:5: command_mocks[1]: has no responses",
        "eval.yaml:7:6: command_mocks[2].name: duplicate mock 'git'",
        "eval.yaml:7:29: command_mocks[2].responses[0]: needs either 'args' or 'args_regex'; args: [] means no arguments",
        "eval.yaml:7:59: command_mocks[2].responses[1]: needs either 'args' or 'args_regex'; args: [] means no arguments",
        "eval.yaml:7:77: command_mocks[2].responses[2].args_regex[0]: the pattern '(' cannot be used: a group is not closed; add `)`, or write `\\(` for the sign itself",
        "eval.yaml:10:9: command_mocks[3].responses[0]: has both 'stdout' and 'fixture'; keep one",
        "eval.yaml:11:20: command_mocks[3].responses[1].fixture: the path '../x' climbs with `..`; name a place inside the folder it belongs to",
        "eval.yaml:12:20: command_mocks[3].responses[2].fixture: there is no file 'nope' beside the suite",
        "eval.yaml:13:20: command_mocks[3].responses[3].workdir: the path '/abs' is absolute; give it relative to the folder it belongs to",
        "eval.yaml:14:20: command_mocks[3].responses[4].environment: 'A=B' is not a valid variable name",
        suite=SUITE
        + """\
command_mocks:
  - {name: 'a b', responses: [{args: []}]}
  - {name: git}
  - {name: GIT, responses: [{args: [a], args_regex: [b]}, {}, {args_regex: ['(']}]}
  - name: az
    responses:
      - {args: [], stdout: a, fixture: t.yaml}
      - {args: [], fixture: ../x}
      - {args: [], fixture: nope}
      - {args: [], workdir: /abs}
      - {args: [], environment: {'A=B': c}}
""",
        args=["--executor", "mock"],
    ),
    case(
        "mock: values",
        "eval.yaml:5:3: mock.otput: unknown key 'otput'; did you mean 'output'?",
        "eval.yaml:6:16: mock.tool_calls[0]: 'name' is missing",
        "eval.yaml:6:28: mock.tool_calls[1]: must be a mapping of keys, not the text 'bash'; write keys, such as name:, args:, result:",
        "eval.yaml:6:41: mock.tool_calls[2].name: must not be empty",
        "eval.yaml:6:54: mock.tool_calls[2].success: must be true or false, not the number 1",
        "eval.yaml:6:57: mock.tool_calls[2].reslt: unknown key 'reslt'; did you mean 'result'?",
        "eval.yaml:7:11: mock.files[0]: 'path' is missing",
        "eval.yaml:7:35: mock.files[1].contents: unknown key 'contents'; did you mean 'content'?",
        "eval.yaml:8:25: mock.usage.input_tokens: is -1, but must be at least 0",
        "eval.yaml:8:29: mock.usage.tokens: unknown key 'tokens'; did you mean 'input_tokens'?",
        "eval.yaml:9:13: mock.delay_ms: is -5, but must be at least 0",
        "eval.yaml:10:24: mock.judge.g[0].winner: the text 'C' is not one of: A, B, tie",
        "eval.yaml:10:28: mock.judge.g[1]: must be a mapping of keys, not the text 'yes'; write keys, such as pass:, fail:, winner:",
        "eval.yaml:10:37: mock.judge.h: must be a list, not a mapping; start each item with '- '",
        suite=SUITE
        + """\
mock:
  otput: hi
  tool_calls: [{args: {}}, bash, {name: '', success: 1, reslt: x}]
  files: [{content: y}, {path: a, contents: x}]
  usage: {input_tokens: -1, tokens: 5}
  delay_ms: -5
  judge: {g: [{winner: C}, yes], h: {pass: x}}
""",
    ),
    case(
        "mock: paths and steps",
        "eval.yaml:5:3: mock.output: 'output' cannot be combined with 'turns'; move it into one of the turns",
        "eval.yaml:6:20: mock.turns[0].files[0]: the path '../x' climbs with `..`; name a place inside the folder it belongs to",
        "eval.yaml:6:34: mock.turns[0].files[1]: the path '/x' is absolute; give it relative to the folder it belongs to",
        "eval.yaml:6:46: mock.turns[0].files[2]: the path 'a\\x00b' holds a NUL character; remove it",
        "eval.yaml:6:72: mock.turns[0].delete[0]: the path '../y' climbs with `..`; name a place inside the folder it belongs to",
        "eval.yaml:7:15: mock.judge.g[0]: a judge step is one of: pass, fail, winner, reply, error",
        "eval.yaml:7:35: mock.judge.g[1]: a judge step is one of: pass, fail, winner, reply, error",
        "eval.yaml:8:15: mock.responder[0]: a responder step is one of: reply, stop: true, abstain",
        "eval.yaml:8:39: mock.responder[1]: a responder step is one of: reply, stop: true, abstain",
        "eval.yaml:9:25: mock.executions[0].files[0]: the path '../x' climbs with `..`; name a place inside the folder it belongs to",
        suite=SUITE
        + """\
mock:
  output: hi
  turns: [{files: [{path: ../x}, {path: /x}, {path: "a\\0b"}], delete: [../y]}]
  judge: {g: [{pass: a, fail: b}, {}]}
  responder: [{reply: a, stop: true}, {}]
  executions: [{files: [{path: ../x}]}]
""",
    ),
]
