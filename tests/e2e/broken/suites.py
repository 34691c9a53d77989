"""Suites with keys and values that cannot be used."""

from __future__ import annotations

from tests.e2e.broken.case import SUITE, TASK, Case, case, config, rows

SCENARIO = 'schemaVersion: "2.0"\nscenario: flow\n'

CASES: list[Case] = [
    case(
        "types: every key of a suite",
        "eval.yaml:1:7: name: must be a text, not a list",
        "eval.yaml:2:14: description: must be a text, not a mapping",
        "eval.yaml:3:8: skill: must be a text, not a list",
        "eval.yaml:4:9: config: must be a mapping of keys, not the text 'fast'; write keys, such as trials_per_task:, stop_when:, pass_rule:",
        "eval.yaml:5:10: metrics: must be a list, not a mapping; start each item with '- '",
        "eval.yaml:6:10: graders: must be a list, not a mapping; start each item with '- '",
        "eval.yaml:7:8: hooks: must be a mapping of keys, not a list; write keys, such as before_run:, after_run:, before_task:",
        "eval.yaml:8:9: inputs: must be a mapping, not a list",
        "eval.yaml:9:11: baseline: must be true or false, not the text 'maybe'",
        "eval.yaml:10:7: mock: must be a mapping of keys, not the text 'text'; write keys, such as output:, tool_calls:, skills:",
        "eval.yaml:11:14: adversarial: must be a mapping of keys, not a list; write keys, such as packs:, on_unsafe_outcome:",
        "eval.yaml:12:12: mcp_mocks: must be a list, not a mapping; start each item with '- '",
        "eval.yaml:13:16: command_mocks: must be a list, not the text 'x'; start each item with '- '",
        "eval.yaml:14:8: tasks: must be a list, not the text 'tasks/*.yaml'; start each item with '- '",
        "eval.yaml:15:13: tasks_from: must be a text, not a list",
        suite="""\
name: [s]
description: {a: b}
skill: [x]
config: fast
metrics: {a: 1}
graders: {type: text}
hooks: [{command: x}]
inputs: [a]
baseline: maybe
mock: text
adversarial: []
mcp_mocks: {}
command_mocks: x
tasks: tasks/*.yaml
tasks_from: [a.csv]
""",
    ),
    case(
        "types: every key of config",
        "eval.yaml:3:20: config.trials_per_task: must be a whole number of at least 1, not the text 'five'",
        "eval.yaml:4:20: config.timeout_seconds: must be a whole number of at least 1, not the text '5m'",
        "eval.yaml:5:32: config.first_event_timeout_seconds: must be a whole number of at least 0, not the number 1.5",
        "eval.yaml:6:25: config.idle_timeout_seconds: must be a whole number of at least 0, not the text '1h'",
        "eval.yaml:7:13: config.parallel: must be true or false, not the text 'maybe'",
        "eval.yaml:8:12: config.workers: must be a whole number of at least 0, not the text 'many'",
        "eval.yaml:9:14: config.fail_fast: must be true or false, not the number 1",
        "eval.yaml:10:17: config.max_attempts: must be a whole number, not a list",
        "eval.yaml:11:13: config.executor: must be a text, not a mapping",
        "eval.yaml:12:10: config.model: must be a text, not a list",
        "eval.yaml:13:21: config.reasoning_effort: the text 'huge' is not one of: low, medium, high, xhigh, max",
        "eval.yaml:14:13: config.group_by: must be a text, not a list",
        "eval.yaml:15:22: config.skill_directories: must be a list, not the text 'skills'; start each item with '- '",
        "eval.yaml:16:20: config.required_skills: must be a list, not a mapping; start each item with '- '",
        "eval.yaml:17:22: config.instruction_files: must be a list, not the text 'a.md'; start each item with '- '",
        "eval.yaml:18:22: config.inject_skill_body: must be true or false, not the text 'truth'",
        "eval.yaml:19:16: config.mcp_servers: must be a mapping, not a list",
        "eval.yaml:20:14: config.isolation: the text 'task' is not one of: run, trial",
        suite="""\
name: s
config:
  trials_per_task: five
  timeout_seconds: 5m
  first_event_timeout_seconds: 1.5
  idle_timeout_seconds: 1h
  parallel: maybe
  workers: many
  fail_fast: 1
  max_attempts: [1]
  executor: {name: mock}
  model: [m]
  reasoning_effort: huge
  group_by: [model]
  skill_directories: skills
  required_skills: {a: b}
  instruction_files: a.md
  inject_skill_body: "truth"
  mcp_servers: [a]
  isolation: task
tasks: [t.yaml]
""",
    ),
    case(
        "types: metrics",
        "eval.yaml:5:5: metrics[0]: 'name' is missing",
        "eval.yaml:6:12: metrics[1].name: must not be empty",
        "eval.yaml:6:27: metrics[1].threshold: is .nan, but must be a finite number",
        "eval.yaml:7:6: metrics[2].name: warning: there is no metric 'a', so it is left out; known: behavior_quality, task_completion, trigger_accuracy, trigger_precision, trigger_recall, trigger_routing",
        "eval.yaml:7:23: metrics[2].weight: is -.inf, but must be a finite number",
        "eval.yaml:7:39: metrics[2].enabled: must be true or false, not the text 'maybe'",
        "eval.yaml:8:5: metrics[3]: must be a mapping of keys, not the text 'accuracy'; write keys, such as name:, weight:, threshold:",
        "eval.yaml:9:6: metrics[4].name: warning: there is no metric 'b', so it is left out; known: behavior_quality, task_completion, trigger_accuracy, trigger_precision, trigger_recall, trigger_routing",
        "eval.yaml:9:21: metrics[4].gate: must be true or false, not the number 1",
        suite=SUITE
        + """\
metrics:
  - {weight: 1}
  - {name: '', threshold: .nan}
  - {name: a, weight: -.inf, enabled: maybe}
  - accuracy
  - {name: b, gate: 1}
""",
    ),
    case(
        "types: hooks",
        "eval.yaml:6:17: hooks.before_run[0].command: must not be empty",
        "eval.yaml:7:7: hooks.before_run[1]: 'command' is missing; 'comand' is probably meant",
        "eval.yaml:7:8: hooks.before_run[1].comand: warning: unknown key 'comand', ignored; did you mean 'command'?",
        "eval.yaml:8:7: hooks.before_run[2]: must be a mapping of keys, not the text 'echo hi'; write keys, such as command:, working_directory:, exit_codes:",
        "eval.yaml:9:34: hooks.before_run[3].exit_codes[0]: must be a whole number, not the text 'ok'",
        "eval.yaml:9:54: hooks.before_run[3].error_on_fail: must be true or false, not the number 1",
        "eval.yaml:10:15: hooks.after_task: must be a list, not a mapping; start each item with '- '",
        suite=SUITE
        + """\
hooks:
  before_run:
    - {command: '  '}
    - {comand: echo}
    - echo hi
    - {command: ls, exit_codes: [ok], error_on_fail: 1}
  after_task: {command: ls}
""",
    ),
    case(
        "types: inputs and tasks",
        "eval.yaml:3:13: inputs.a: must be a text, not a list",
        "eval.yaml:3:21: inputs.b: must be a text, not a mapping",
        "eval.yaml:4:9: tasks[0]: must be a text, not a mapping",
        "eval.yaml:4:18: tasks[1]: must not be empty",
        suite="name: s\nconfig: {executor: mock}\ninputs: {a: [1], b: {c: d}}\ntasks: [{id: a}, '']\n",
    ),
    case(
        "limits: counts and seconds",
        "eval.yaml:4:20: config.trials_per_task: is 0, but must be at least 1",
        "eval.yaml:5:20: config.timeout_seconds: is -1, but must be at least 1",
        "eval.yaml:6:32: config.first_event_timeout_seconds: is -1, but must be at least 0",
        "eval.yaml:7:25: config.idle_timeout_seconds: is 86401, but must be at most 86,400",
        "eval.yaml:8:12: config.workers: is -2, but must be at least 0",
        "eval.yaml:9:17: config.max_attempts: is -1, but must be at least 0",
        suite="""\
name: s
config:
  executor: mock
  trials_per_task: 0
  timeout_seconds: -1
  first_event_timeout_seconds: -1
  idle_timeout_seconds: 86401
  workers: -2
  max_attempts: -1
tasks: [t.yaml]
""",
    ),
    case(
        "limits: infinite, boolean and huge",
        "eval.yaml:5:20: config.timeout_seconds: must be a whole number of at least 1, not the number .inf",
        "eval.yaml:6:32: config.first_event_timeout_seconds: must be a whole number of at least 0, not the boolean true",
        "eval.yaml:7:20: config.trials_per_task: is 99999999999999999999, but must be at most 1,000,000",
        "eval.yaml:8:12: config.workers: must be a whole number of at least 0, not the number .nan",
        suite=config(
            "timeout_seconds: .inf",
            "first_event_timeout_seconds: true",
            "trials_per_task: 99999999999999999999",
            "workers: .nan",
        ),
    ),
    case(
        "executor: unknown",
        "eval.yaml:2:10: config.executor: there is no executor 'mok'; did you mean 'mock'?",
        suite="name: s\nconfig: {executor: mok}\ntasks: [t.yaml]\n",
    ),
    case(
        "efforts with the mock executor",
        "eval.yaml:5:3: config.reasoning_effort: needs reasoning efforts, which the executor 'mock' does not offer; use executor: chat, claude or copilot-sdk, or remove it",
        "eval.yaml:6:3: config.judge_reasoning_effort: needs reasoning efforts, which the executor 'mock' does not offer; use executor: chat, claude or copilot-sdk, or remove it",
        suite=config("reasoning_effort: high", "judge_reasoning_effort: low"),
    ),
    case(
        "an effort without a model",
        "eval.yaml:2:33: config.reasoning_effort: an effort needs a model that is named; set config.model; `waza models` lists them",
        suite="name: s\nconfig: {executor: copilot-sdk, reasoning_effort: high}\ntasks: [t.yaml]\n",
    ),
    case(
        "depth: keys of other levels",
        "eval.yaml:2:1: timeout_seconds: unknown key 'timeout_seconds'; it belongs under 'config'",
        "eval.yaml:3:1: executor: unknown key 'executor'; it belongs under 'config'",
        "eval.yaml:4:1: before_run: unknown key 'before_run'; it belongs under 'hooks'",
        "eval.yaml:5:1: assertions: unknown key 'assertions'; checks are written as 'graders:' of a suite or task, or under 'expected:' of a task",
        "eval.yaml:6:1: prompt: unknown key 'prompt'; it belongs in a task file, under 'inputs'",
        "eval.yaml:9:3: config.graders: unknown key 'graders'; it belongs at the top level",
        "eval.yaml:10:3: config.tasks: unknown key 'tasks'; it belongs at the top level",
        "eval.yaml:11:3: config.expected: unknown key 'expected'; it belongs in a task file, at the top level",
        "eval.yaml:12:9: hooks.command: unknown key 'command'; it belongs under 'hooks.before_run' or under 'hooks.after_run' or under 'hooks.before_task'",
        suite="""\
name: s
timeout_seconds: 5
executor: mock
before_run: []
assertions: []
prompt: hi
config:
  executor: mock
  graders: []
  tasks: [t.yaml]
  expected: {output_contains: [x]}
hooks: {command: ls}
tasks: [t.yaml]
""",
    ),
    case(
        "scenario: unknown keys",
        "eval.yaml:4:26: config.modle: unknown key 'modle'; did you mean 'model'?",
        "eval.yaml:5:1: colour: unknown key 'colour'; known: adversarial, baseline, canary, caveats, command_mocks, config, description, graders, hooks, inputs, mcp_mocks, metrics, mock, name, range, scenario, schemaVersion, skill, tasks, tasks_from, version",
        "eval.yaml:6:36: hooks.before_run[0].directory: unknown key 'directory'; did you mean 'working_directory'?",
        "eval.yaml:7:12: metrics[0].name: warning: there is no metric 'a', so it is left out; known: behavior_quality, task_completion, trigger_accuracy, trigger_precision, trigger_recall, trigger_routing",
        "eval.yaml:7:21: metrics[0].treshold: unknown key 'treshold'; did you mean 'threshold'?",
        "t.yaml:3:1: tagz: unknown key 'tagz'; did you mean 'tags'?",
        "t.yaml:4:12: expected.output_contain: unknown key 'output_contain'; did you mean 'output_contains'?",
        suite=SCENARIO
        + """\
name: s
config: {executor: mock, modle: x}
colour: red
hooks: {before_run: [{command: ls, directory: x}]}
metrics: [{name: a, treshold: 1}]
tasks: [t.yaml]
""",
        task=TASK + "tagz: [a]\nexpected: {output_contain: [x]}\n",
    ),
    case(
        "scenario: blank",
        "eval.yaml:2:1: scenario: is blank; name the workflow that this suite evaluates",
        suite='schemaVersion: "2.0"\nscenario: " "\n' + SUITE,
    ),
    case(
        "scenario: no version",
        "eval.yaml:1:1: schemaVersion: a scenario needs schemaVersion: '2.0', written out",
        suite="scenario: flow\n" + SUITE,
    ),
    case(
        "scenario: version 1.4",
        "eval.yaml:1:1: schemaVersion: a scenario needs schemaVersion: '2.0', written out",
        suite="schemaVersion: 1.4\nscenario: flow\n" + SUITE,
    ),
    case(
        "scenario: required skills",
        "eval.yaml:7:3: config.required_skills: a scenario without a skill needs config.skill_directories to look in",
        suite=SCENARIO + config("required_skills: [x]"),
    ),
    case(
        "version: one number",
        "eval.yaml:1:1: schemaVersion: '1' is not a valid version; write MAJOR.MINOR, such as '1.4'",
        suite="schemaVersion: 1\n" + SUITE,
    ),
    case(
        "version: a letter",
        "eval.yaml:1:1: schemaVersion: 'v1.4' is not a valid version; write MAJOR.MINOR, such as '1.4'",
        suite="schemaVersion: v1.4\n" + SUITE,
    ),
    case(
        "version: three numbers",
        "eval.yaml:1:1: schemaVersion: '1.4.0' is not a valid version; write MAJOR.MINOR, such as '1.4'",
        suite="schemaVersion: 1.4.0\n" + SUITE,
    ),
    case(
        "version: 3.0",
        "eval.yaml:1:1: schemaVersion: version 3.0 is not readable here, which reads 1.x (1.4); write '1.4' if the suite uses nothing newer, or use the version of waza that it is for",
        suite="schemaVersion: 3.0\n" + SUITE,
    ),
    case(
        "version: 2.0 without scenario",
        "eval.yaml:1:1: schemaVersion: version 2.0 is not readable here, which reads 1.x (1.4); 2.0 is for scenario suites: add 'scenario:', or write '1.4'",
        suite="schemaVersion: '2.0'\n" + SUITE,
    ),
    case(
        "version: too old for its keys",
        "eval.yaml:5:1: mcp_mocks: needs schemaVersion 1.1 or newer",
        "eval.yaml:6:1: command_mocks: needs schemaVersion 1.3 or newer",
        "eval.yaml:7:1: adversarial: needs schemaVersion 1.2 or newer",
        suite="schemaVersion: 1.0\n"
        + SUITE
        + "mcp_mocks: []\ncommand_mocks: []\nadversarial: {packs: [scope-bypass]}\n",
        args=["--executor", "mock"],
    ),
    case(
        "adversarial",
        "eval.yaml:4:22: adversarial.packs: has 0 items, but must have at least 1",
        "eval.yaml:4:45: adversarial.on_unsafe_outcome: the text 'explode' is not one of: fail, warn",
        suite=SUITE + "adversarial: {packs: [], on_unsafe_outcome: explode}\n",
    ),
    case(
        "templates: hooks and mock",
        "eval.yaml:6:17: hooks.before_run[0].command: there is no variable `Vars.color`; did you mean `Vars.colour`?",
        "eval.yaml:7:17: hooks.after_task[0].command: there is no variable `Vars.shape`",
        "eval.yaml:8:8: mock.output: there is no variable `Vars.colours`; did you mean `Vars.colour`?",
        "eval.yaml:8:50: mock.judge.g[0].pass: there is no variable `Vars.b`",
        suite=SUITE
        + """\
inputs: {colour: red}
hooks:
  before_run: [{command: 'echo {{.Vars.color}}'}]
  after_task: [{command: 'echo {{.TaskName}} {{ .Vars.colour }} {{.Vars.shape}}'}]
mock: {output: '{{.Vars.colours}}', judge: {g: [{pass: '{{.Vars.b}}'}]}}
""",
    ),
    case(
        "templates: columns where there is no row yet",
        "eval.yaml:5:17: hooks.before_run[0].command: there is no variable `Vars.size`",
        "eval.yaml:7:8: mock.output: there is no variable `Vars.shape`",
        suite=rows("""\
hooks:
  before_run: [{command: 'echo {{.Vars.size}}'}]
  before_task: [{command: 'echo {{.Vars.size}}'}]
mock: {output: '{{.Vars.size}} {{.Vars.shape}}'}
"""),
        files={"a.csv": "size,prompt\nbig,hi\n"},
    ),
    case(
        "a NUL in hooks",
        "eval.yaml:5:17: hooks.before_run[0].command: holds a NUL character; remove it",
        "eval.yaml:6:30: hooks.after_task[0].working_directory: holds a NUL character; remove it",
        suite=SUITE
        + """\
hooks:
  before_run: [{command: "ls a\\0b"}]
  after_task: [{command: ls, working_directory: "a\\0b"}]
""",
    ),
    case(
        "mistakes in the suite and in tasks",
        "eval.yaml:2:43: config.trials_per_task: is 0, but must be at least 1",
        "eval.yaml:3:12: graders[0].type: there is no grader type 'regex'; use type: text with config: {regex_match: [...]}",
        "a.task:2:18: inputs.prompt: must be a text, not a list",
        "a.task:3:33: graders[0].contains: unknown key 'contains'; it belongs under 'config:' of this grader",
        "b.task:1:1: id: the task id 'a' is also used in a.task:1; give each task its own id",
        "b.task:2:22: inputs.timeout_seconds: unknown key 'timeout_seconds'; it belongs at the top level",
        "b.task:3:12: graders[0].type: there is no grader type 'keyword'; use type: text with config: {contains: [...]}",
        suite="""\
name: s
config: {executor: mock, trials_per_task: 0}
graders: [{type: regex, name: r}]
tasks: ['*.task']
""",
        task=None,
        files={
            "a.task": "id: a\ninputs: {prompt: [hi]}\ngraders: [{type: text, name: t, contains: [x]}]\n",
            "b.task": "id: a\ninputs: {prompt: hi, timeout_seconds: 1}\ngraders: [{type: keyword, name: k}]\n",
        },
    ),
]
