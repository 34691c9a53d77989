"""Keys that nobody knows where a check, or a stand-in, would silently not be there."""

from __future__ import annotations

from tests.e2e.broken.case import SUITE, TASK, Case, case

CHECKS = "checks are written as 'graders:' of a suite or task, or under 'expected:' of a task"
COMMANDS = "name: s\nconfig: {executor: copilot-sdk, model: m}\ntasks: [t.yaml]\n"

CASES: list[Case] = [
    case(
        "unknown keys of expectations, checkpoints and metrics",
        "eval.yaml:4:12: metrics[0].name: warning: there is no metric 'a', so it is left out; known: behavior_quality, task_completion, trigger_accuracy, trigger_precision, trigger_recall, trigger_routing",
        "eval.yaml:4:21: metrics[0].treshold: unknown key 'treshold'; did you mean 'threshold'?",
        "t.yaml:3:12: expected.output_contain: unknown key 'output_contain'; did you mean 'output_contains'?",
        "t.yaml:3:33: expected.matches: unknown key 'matches'; known: behavior, outcomes, output_contains, output_contains_any, output_not_contains, should_trigger, tool_calls",
        "t.yaml:3:58: expected.behavior.max_calls: unknown key 'max_calls'; did you mean 'max_tool_calls'?",
        "t.yaml:4:31: checkpoints[0].on_fail: unknown key 'on_fail'; did you mean 'on_failure'?",
        suite=f"{SUITE}metrics: [{{name: a, treshold: 1}}]\n",
        task=f"{TASK}expected: {{output_contain: [x], matches: [y], behavior: {{max_calls: 3}}}}\n"
        "checkpoints: [{after_turn: 1, on_fail: stop, graders: [{type: text, name: c, config: {contains: [a]}}]}]\n",
    ),
    case(
        "unknown keys of mocks",
        "eval.yaml:4:23: mcp_mocks[0].tool: unknown key 'tool'; did you mean 'tools'?",
        "eval.yaml:4:57: mcp_mocks[0].tools.t.responses[0].matches: unknown key 'matches'; did you mean 'match'?",
        "eval.yaml:4:83: mcp_mocks[0].tools.t.schema: unknown key 'schema'; did you mean 'input_schema'?",
        "eval.yaml:5:28: command_mocks[0].expect_call: unknown key 'expect_call'; did you mean 'expect_calls'?",
        "eval.yaml:5:67: command_mocks[0].responses[0].stdot: unknown key 'stdot'; did you mean 'stdout'?",
        "fixtures/b.json:1:32: expect: unknown key 'expect'; known: description, input_schema, responses",
        suite=f"{COMMANDS}mcp_mocks: [{{name: m, tool: x, tools: {{t: {{responses: [{{matches: {{}}, return: 1}}], schema: {{}}}}}}, fixtures: fixtures}}]\n"
        "command_mocks: [{name: gh, expect_call: 1, responses: [{args: [], stdot: x}]}]\n",
        files={"fixtures/b.json": '{"responses": [{"return": 1}], "expect": 1}'},
    ),
    case(
        "words that others use for checks",
        f"eval.yaml:2:27: config.assert: unknown key 'assert'; {CHECKS}",
        "eval.yaml:4:1: grader: unknown key 'grader'; did you mean 'graders'?",
        f"eval.yaml:5:1: evaluators: unknown key 'evaluators'; {CHECKS}",
        f"t.yaml:2:22: inputs.expectations: unknown key 'expectations'; {CHECKS}",
        "t.yaml:3:1: expects: unknown key 'expects'; did you mean 'expected'?",
        f"t.yaml:4:1: validators: unknown key 'validators'; {CHECKS}",
        f"t.yaml:5:1: assertions: unknown key 'assertions'; {CHECKS}",
        suite="name: s\nconfig: {executor: mock,  assert: [x]}\ntasks: [t.yaml]\ngrader: []\nevaluators: []\n",
        task="id: t\ninputs: {prompt: hi, expectations: [x]}\nexpects: {}\nvalidators: []\nassertions: [a]\n",
    ),
    case(
        "keys of another level that change something there",
        "eval.yaml:4:1: model: unknown key 'model'; it belongs under 'config'",
        "t.yaml:2:22: inputs.enabled: unknown key 'enabled'; it belongs at the top level",
        suite=f"{SUITE}model: m\n",
        task="id: t\ninputs: {prompt: hi, enabled: false}\n",
    ),
    case(
        "options of an executor",
        "eval.yaml:2:68: config.executor_options.cwd: unknown key 'cwd'; known: answer, command, directory, system",
        suite="name: s\nconfig: {executor: command, executor_options: {command: 'echo hi', cwd: /}}\ntasks: [t.yaml]\n",
    ),
    case(
        "a project file",
        ".waza.yaml:1:10: server.programTimeout: unknown key 'programTimeout'; it belongs under 'graders'",
        ".waza.yaml:2:13: storage.container: unknown key 'container'; did you mean 'containerName'?",
        files={".waza.yaml": "server: {programTimeout: 5}\nstorage: {  container: x, accountName: a}\n"},
    ),
    case(
        "a project file whose storage is not said in full",
        ".waza.yaml:1:1: storage: 'accountName' is missing; enabled: false switches the section off",
        files={".waza.yaml": "storage: {provider: azure-blob, containerName: xyz}\n"},
    ),
    case(
        "a project file with a storage that nobody knows",
        ".waza.yaml:1:11: storage.provider: there is no provider 's4'; use azure-blob, s3, gcs, file, or install the "
        "package that brings it",
        files={".waza.yaml": "storage: {provider:  s4, accountName: a}\n"},
    ),
    case(
        "a project file with keys of another storage",
        ".waza.yaml:2:1: storage: 'bucket' is missing; enabled: false switches the section off",
        ".waza.yaml:2:30: storage.accountName: 'accountName' is no key of the provider s3; it takes bucket, prefix, "
        "endpoint, region",
        ".waza.yaml:2:46: storage.endpoint: the address is not one such as https://host, without password and query",
        files={
            ".waza.yaml": "# a\nstorage: {provider: s3,      accountName: a, endpoint: 'http://u:secret@host'}\n"
        },
    ),
    case(
        "a project file with names that Azure does not have",
        ".waza.yaml:1:34: storage.accountName: 'My.Team' is not 3 to 24 lower-case letters and digits",
        ".waza.yaml:1:56: storage.containerName: 'a--b' is not 3 to 63 lower-case letters, digits and single hyphens",
        files={".waza.yaml": "storage: {provider: azure-blob,  accountName: My.Team, containerName: a--b}\n"},
    ),
]
