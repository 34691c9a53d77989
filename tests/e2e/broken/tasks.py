"""Task files with keys or values that cannot be used."""

from __future__ import annotations

from tests.e2e.broken.case import SUITE, TASK, Case, case, config, directory, grader, tail

CASES: list[Case] = [
    case("wrong types", task="""\
id: [t]
name: {a: b}
enabled: "no"
golden: 1
tags: python
timeout_seconds: 5m
first_event_timeout_seconds: -1
skill_directories: x
instruction_files: {a: b}
inputs: hi
expected: [x]
graders: {type: text}
checkpoints: 1
requirements: x
triggers: hi
fixtures: a.txt
mock: 5
"""),
    case("wrong types in inputs", task="""\
id: t
inputs:
  prompt: [hi]
  prompt_file: {a: b}
  context: text
  files: a.txt
  repos: {source: x}
  workdir: [a]
  environment: [A=b]
  follow_up_prompts: again
  responder: yes
"""),
    case("files as texts", task="id: t\ninputs: {prompt: hi, files: [a.txt, {path: [x]}, {content: 5}, 7]}\n"),
    case("timeouts", task=TASK + "timeout_seconds: 0\nfirst_event_timeout_seconds: .inf\n"),
    case("timeouts 2", task=TASK + "timeout_seconds: true\nfirst_event_timeout_seconds: 1.5\n"),
    case("misplaced", task="""\
id: t
prompt: hi
output_contains: [x]
trials_per_task: 3
max_tool_calls: 4
hooks: {}
config: {executor: mock}
contains: [x]
inputs:
  prompt: p
  timeout_seconds: 1
  expected: {output_contains: [x]}
  tags: [a]
expected:
  graders: []
  prompt: x
  max_tool_calls: 5
checkpoints:
  - after_turn: 1
    graders: [{type: text, name: g, config: {contains: [x]}}]
    stop: true
    expected: {}
"""),
    case("duplicate ids", suite="name: s\nconfig: {executor: mock}\ntasks: [t.yaml, u.yaml]\n", files={"u.yaml": TASK}),
    case("duplicate ids by trigger", suite="name: s\nconfig: {executor: mock}\ntasks: [t.yaml, u.yaml]\n", task="name: a\ntriggers: [x, y]\n", files={"u.yaml": "id: a-2\ninputs: {prompt: x}\n"}),
    case("triggers and prompt", task=TASK + "triggers: [x]\n"),
    case("responder", task="id: t\ninputs:\n  prompt: hi\n  follow_up_prompts: [x]\n  responder: {instructions: help, max_followups: 2}\n"),
    case("responder 2", task="id: t\ninputs:\n  prompt: hi\n  responder: {instructions: ' ', max_followups: 0, modle: x}\n"),
    case("responder 3", task="id: t\ninputs:\n  prompt: hi\n  responder: {}\n"),
    case("checkpoints", task=TASK + """\
checkpoints:
  - {after_turn: 0, graders: []}
  - {graders: [{type: text, name: g, config: {contains: [x]}}]}
  - {after_turn: 1, on_failure: halt}
"""),
    case("checkpoints 2", task=TASK + """\
checkpoints:
  - {after_turn: 1, graders: [{type: text, name: g, config: {contains: [x]}}, {type: text, name: g, config: {contains: [y]}}]}
  - {after_turn: 1, graders: [{type: txt, name: g, config: {contains: [x]}}]}
  - {after_turn: 4, graders: [{type: text, name: g, config: {contains: [x]}}]}
"""),
    case("repos", task="""\
id: t
inputs:
  prompt: hi
  repos:
    - {type: clone, source: x}
    - {source: ''}
    - {type: worktree}
"""),
    case("repos 2", task="""\
id: t
inputs:
  prompt: hi
  repos:
    - {type: worktree, source: x, dest: ../y, commit: --upload-pack=x}
    - {type: worktree, source: x, dest: /y}
    - {type: worktree, source: "a\\0b", dest: z}
    - {type: worktree, source: nope, dest: z}
  workdir: a/../../b
"""),
    case("workdir absolute", task="id: t\ninputs: {prompt: hi, workdir: /tmp}\n"),
    case("environment", task="id: t\ninputs: {prompt: hi, environment: {'A=B': x, '': y, C: \"a\\0b\", D: [x]}}\n"),
    case("environment 2", task="id: t\ninputs: {prompt: hi, environment: {'A=B': x, '': y, C: \"a\\0b\"}}\n"),
    case("templates", suite=tail("inputs: {colour: red}\n"), task="""\
id: t
inputs:
  prompt: 'hi {{.Vars.color}} {{ .Vars.shape }}'
  follow_up_prompts: ['x', '{{.Vars.size}}']
mock: {turns: [{output: '{{.Vars.a}}'}], judge: {g: [{pass: '{{.Vars.b}}'}]}}
"""),
    case("templates in triggers", task="name: t\ntriggers: [ok, '{{.Vars.x}}']\n"),
    case("requirements", task=TASK + "requirements: [{id: R1, checks: [{scope: checkpoint, after_turn: 0}, x]}, {category: [a]}]\n"),
    case("expected", task=TASK + "expected: {output_contains: x, behavior: {max_tool_calls: -1, max_tokens: lots, required_tools: bash}, should_trigger: yes, outcomes: [x]}\n"),
    case("mock task", task=TASK + "mock: {turns: [{files: [{path: ../x}], delete: [/y]}], output: x}\n"),
    case("mock executions", task=TASK + "mock:\n  executions:\n  - {files: [{path: ../x}]}\n  - {judge: {g: [{}]}, responder: [{}]}\n"),
    case("surrogate", task='id: "\\ud800"\ninputs: {prompt: "\\ud800"}\n'),
    case("id control", task='id: "a\\0b\\e[31m"\ninputs: {prompt: "x"}\n'),
    case("weird alias", task="id: t\ninputs: &i\n  prompt: hi\n  context: *i\n"),
    case("merge wrong", task="id: t\n<<: hi\n"),
    case("no inputs", task="id: t\n"),
    case("tag", task="id: !!int abc\ninputs: {prompt: !foo bar, files: !!set {a, b}}\n"),
    case("binary", task="id: !!binary aGk=\ninputs: {prompt: !!binary '%%%'}\n"),
    case("timeout float", task=TASK + "timeout_seconds: 5.0\n"),
    case("octal", task=TASK + "timeout_seconds: 0o10\n"),
]
