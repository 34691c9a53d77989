"""Tasks with keys and values that cannot be used."""

from __future__ import annotations

from tests.e2e.broken.case import SUITE, TASK, Case, case, inputs

TWO = "name: s\nconfig: {executor: mock}\ntasks: [t.yaml, u.yaml]\n"
TEXT = "{type: text, name: g, config: {contains: [x]}}"

CASES: list[Case] = [
    case(
        "types: every key of a task",
        "t.yaml:1:5: id: must be a text, not a list",
        "t.yaml:2:7: name: must be a text, not a mapping",
        "t.yaml:3:10: enabled: must be true or false, not the text 'not'",
        "t.yaml:4:9: golden: must be true or false, not the number 1",
        "t.yaml:5:7: tags: must be a list, not the text 'python'; start each item with '- '",
        "t.yaml:6:18: timeout_seconds: must be a whole number of at least 1, not the text '5m'",
        "t.yaml:7:30: first_event_timeout_seconds: is -1, but must be at least 0",
        "t.yaml:8:20: skill_directories: must be a list, not the text 'x'; start each item with '- '",
        "t.yaml:9:20: instruction_files: must be a list, not a mapping; start each item with '- '",
        "t.yaml:10:9: inputs: must be a mapping of keys, not the text 'hi'; write keys, such as context:, files:, repos:",
        "t.yaml:11:11: expected: must be a mapping of keys, not a list; write keys, such as output_contains:, output_not_contains:, output_contains_any:",
        "t.yaml:12:10: graders: must be a list, not a mapping; start each item with '- '",
        "t.yaml:13:14: checkpoints: must be a list, not the number 1; start each item with '- '",
        "t.yaml:14:15: requirements: must be a list, not the text 'x'; start each item with '- '",
        "t.yaml:15:11: triggers: must be a list, not the text 'hi'; start each item with '- '",
        "t.yaml:16:11: fixtures: must be a list, not the text 'a.txt'; start each item with '- '",
        "t.yaml:17:7: mock: must be a mapping of keys, not the number 5; write keys, such as output:, tool_calls:, skills:",
        task="""\
id: [t]
name: {a: b}
enabled: "not"
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
""",
    ),
    case(
        "types: every key of inputs",
        "t.yaml:3:11: inputs.prompt: must be a text, not a list",
        "t.yaml:4:16: inputs.prompt_file: must be a text, not a mapping",
        "t.yaml:5:12: inputs.context: must be a mapping, not the text 'text'",
        "t.yaml:6:10: inputs.files: must be a list, not the text 'a.txt'; start each item with '- '",
        "t.yaml:7:10: inputs.repos: must be a list, not a mapping; start each item with '- '",
        "t.yaml:8:12: inputs.workdir: must be a text, not a list",
        "t.yaml:9:16: inputs.environment: must be a mapping, not a list",
        "t.yaml:10:22: inputs.follow_up_prompts: must be a list, not the text 'again'; start each item with '- '",
        "t.yaml:11:14: inputs.responder: must be a mapping of keys, not the text 'yes'; write keys, such as instructions:, max_followups:, model:",
        task="""\
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
""",
    ),
    case(
        "types: files",
        "t.yaml:2:30: inputs.files[0]: must be a mapping of keys, not the text 'a.txt'; write keys, such as path:, content:",
        "t.yaml:2:44: inputs.files[1].path: must be a text, not a list",
        "t.yaml:2:50: inputs.files[2].path: warning: is empty, so this file is left out",
        "t.yaml:2:64: inputs.files[3]: must be a mapping of keys, not the number 7; write keys, such as path:, content:",
        task=inputs("prompt: hi, files: [a.txt, {path: [x]}, {content: 5}, 7]"),
    ),
    case(
        "types: expected",
        "t.yaml:4:20: expected.output_contains: must be a list, not the text 'x'; start each item with '- '",
        "t.yaml:5:30: expected.behavior.max_tool_calls: is -1, but must be at least 0",
        "t.yaml:5:46: expected.behavior.max_tokens: must be a whole number of at least 0, not the text 'lots'",
        "t.yaml:5:68: expected.behavior.required_tools: must be a list, not the text 'bash'; start each item with '- '",
        "t.yaml:6:19: expected.should_trigger: must be true or false, not the text 'maybe'",
        "t.yaml:7:14: expected.outcomes[0]: must be a mapping, not the text 'done'",
        task=TASK
        + """\
expected:
  output_contains: x
  behavior: {max_tool_calls: -1, max_tokens: lots, required_tools: bash}
  should_trigger: maybe
  outcomes: [done]
""",
    ),
    case(
        "types: requirements",
        "t.yaml:3:39: requirements[0].checks[0].after_turn: is 0, but must be at least 1",
        "t.yaml:3:43: requirements[0].checks[1]: must be a mapping of keys, not the text 'x'; write keys, such as scope:, grader:, after_turn:",
        "t.yaml:3:59: requirements[1].category: must be a text, not a list",
        task=TASK + "requirements: [{checks: [{after_turn: 0}, x]}, {category: [a]}]\n",
    ),
    case(
        "limits: seconds",
        "t.yaml:3:18: timeout_seconds: is 0, but must be at least 1",
        "t.yaml:4:30: first_event_timeout_seconds: must be a whole number of at least 0, not the number .inf",
        task=TASK + "timeout_seconds: 0\nfirst_event_timeout_seconds: .inf\n",
    ),
    case(
        "limits: booleans and fractions",
        "t.yaml:3:18: timeout_seconds: must be a whole number of at least 1, not the boolean true",
        "t.yaml:4:30: first_event_timeout_seconds: must be a whole number of at least 0, not the number 1.5",
        task=TASK + "timeout_seconds: true\nfirst_event_timeout_seconds: 1.5\n",
    ),
    case(
        "depth: keys of other levels",
        "t.yaml:2:1: prompt: unknown key 'prompt'; it belongs under 'inputs'",
        "t.yaml:3:1: output_contains: unknown key 'output_contains'; it belongs under 'expected'",
        "t.yaml:4:1: trials_per_task: unknown key 'trials_per_task'; it belongs in eval.yaml, under 'config'",
        "t.yaml:5:1: hooks: unknown key 'hooks'; it belongs in eval.yaml, at the top level",
        "t.yaml:6:1: config: unknown key 'config'; it belongs in eval.yaml, at the top level",
        "t.yaml:9:3: inputs.timeout_seconds: unknown key 'timeout_seconds'; it belongs at the top level",
        "t.yaml:10:3: inputs.expected: unknown key 'expected'; it belongs at the top level",
        "t.yaml:12:3: expected.graders: unknown key 'graders'; it belongs at the top level or under 'checkpoints'",
        "t.yaml:13:3: expected.max_tool_calls: unknown key 'max_tool_calls'; it belongs under 'expected.behavior'",
        "t.yaml:15:80: checkpoints[0].expected: unknown key 'expected'; it belongs at the top level",
        task="""\
id: t
prompt: hi
output_contains: [x]
trials_per_task: 3
hooks: {}
config: {executor: mock}
inputs:
  prompt: p
  timeout_seconds: 1
  expected: {output_contains: [x]}
expected:
  graders: []
  max_tool_calls: 5
checkpoints:
  - {after_turn: 1, graders: ["""
        + TEXT
        + """], expected: {}}
""",
    ),
    case(
        "ids: twice",
        "u.yaml:2:1: id: the task id 't' is also used in t.yaml:1; give each task its own id",
        suite=TWO,
        files={"u.yaml": "name: u\nid: t\ninputs: {prompt: hi}\n"},
    ),
    case(
        "ids: twice by a trigger",
        "u.yaml:1:1: id: the task id 'a-2' is also used in t.yaml:1; give each task its own id",
        suite=TWO,
        task="name: a\ntriggers: [x, y]\n",
        files={"u.yaml": "id: a-2\ninputs: {prompt: hi}\n"},
    ),
    case(
        "prompt: beside prompt_file",
        "t.yaml:2:22: inputs.prompt_file: cannot be combined with 'prompt'; keep one of them",
        task=inputs("prompt: hi, prompt_file: p.md"),
        files={"p.md": "x"},
    ),
    case(
        "prompt: beside triggers",
        "t.yaml:3:1: triggers: cannot be combined with a prompt; keep either triggers or inputs.prompt",
        task=TASK + "triggers: [x]\n",
    ),
    case(
        "responder: beside follow-ups",
        "t.yaml:2:46: inputs.responder: cannot be combined with follow_up_prompts; keep one way to go on with the conversation",
        task=inputs("prompt: hi, follow_up_prompts: [x], responder: {instructions: help, max_followups: 2}"),
    ),
    case(
        "responder: blank",
        "t.yaml:2:48: inputs.responder.instructions: must not be empty",
        "t.yaml:2:68: inputs.responder.max_followups: is 0, but must be at least 1",
        task=inputs("prompt: hi, responder: {instructions: ' ', max_followups: 0}"),
    ),
    case(
        "responder: a misspelt key",
        "t.yaml:2:33: inputs.responder: 'instructions' is missing; 'instruction' is probably meant",
        "t.yaml:2:33: inputs.responder: 'max_followups' is missing; 'max_follow_ups' is probably meant",
        "t.yaml:2:34: inputs.responder.instruction: warning: unknown key 'instruction', ignored; did you mean 'instructions'?",
        "t.yaml:2:53: inputs.responder.max_follow_ups: warning: unknown key 'max_follow_ups', ignored; did you mean 'max_followups'?",
        task=inputs("prompt: hi, responder: {instruction: help, max_follow_ups: 2}"),
    ),
    case(
        "checkpoints: values",
        "t.yaml:4:18: checkpoints[0].after_turn: is 0, but must be at least 1",
        "t.yaml:4:30: checkpoints[0].graders: has 0 items, but must have at least 1",
        "t.yaml:5:5: checkpoints[1]: 'after_turn' is missing",
        "t.yaml:6:5: checkpoints[2]: 'graders' is missing",
        "t.yaml:6:33: checkpoints[2].on_failure: the text 'halt' is not one of: continue, stop",
        task=TASK
        + """\
checkpoints:
  - {after_turn: 0, graders: []}
  - {graders: ["""
        + TEXT
        + """]}
  - {after_turn: 1, on_failure: halt}
""",
    ),
    case(
        "checkpoints: turns",
        "t.yaml:4:92: checkpoints[0].graders[1].name: the name 'g' is taken by checkpoints[0].graders[0]; give each grader its own name",
        "t.yaml:5:6: checkpoints[1].after_turn: turn 1 has a checkpoint already",
        "t.yaml:5:32: checkpoints[1].graders[0].type: there is no grader type 'txt'; did you mean 'text'? types: {types}",
        "t.yaml:6:6: checkpoints[2].after_turn: is 4, but the task has only 1 turn; add follow_up_prompts, or name an earlier turn",
        task=TASK
        + f"""\
checkpoints:
  - {{after_turn: 1, graders: [{TEXT}, {TEXT}]}}
  - {{after_turn: 1, graders: [{{type: txt, name: h}}]}}
  - {{after_turn: 4, graders: [{TEXT}]}}
""",
    ),
    case(
        "repos: values",
        "t.yaml:5:14: inputs.repos[0].type: the text 'clone' is not one of: worktree",
        "t.yaml:5:21: inputs.repos[0].source: there is no repository 'x'; paths are relative to the suite's directory, or else to the current one",
        "t.yaml:6:7: inputs.repos[1]: 'type' is missing",
        "t.yaml:6:16: inputs.repos[1].source: must not be empty",
        "t.yaml:7:7: inputs.repos[2]: 'source' is missing",
        task="""\
id: t
inputs:
  prompt: hi
  repos:
    - {type: clone, source: x}
    - {source: ''}
    - {type: worktree}
""",
    ),
    case(
        "repos: places",
        "t.yaml:5:35: inputs.repos[0].dest: the path '../y' climbs with `..`; name a place inside the folder it belongs to",
        "t.yaml:5:47: inputs.repos[0].commit: '--upload-pack=x' is not a commit, branch or tag",
        "t.yaml:6:35: inputs.repos[1].dest: the path '/y' is absolute; give it relative to the folder it belongs to",
        "t.yaml:7:24: inputs.repos[2].source: there is no repository 'a\\x00b'; paths are relative to the suite's directory, or else to the current one",
        "t.yaml:8:24: inputs.repos[3].source: there is no repository 'nope'; paths are relative to the suite's directory, or else to the current one",
        "t.yaml:9:3: inputs.workdir: the path 'a/../../b' climbs with `..`; name a place inside the folder it belongs to",
        task="""\
id: t
inputs:
  prompt: hi
  repos:
    - {type: worktree, source: ., dest: ../y, commit: --upload-pack=x}
    - {type: worktree, source: ., dest: /y}
    - {type: worktree, source: "a\\0b", dest: z}
    - {type: worktree, source: nope, dest: z}
  workdir: a/../../b
""",
    ),
    case(
        "workdir: absolute",
        "t.yaml:2:22: inputs.workdir: the path '/tmp' is absolute; give it relative to the folder it belongs to",
        task=inputs("prompt: hi, workdir: /tmp"),
    ),
    case(
        "environment",
        "t.yaml:2:36: inputs.environment.A=B: 'A=B' cannot be set in an environment; a name is not empty and has no '='; neither name nor value has a NUL character",
        "t.yaml:2:46: inputs.environment.: '' cannot be set in an environment; a name is not empty and has no '='; neither name nor value has a NUL character",
        "t.yaml:2:53: inputs.environment.C: 'C' cannot be set in an environment; a name is not empty and has no '='; neither name nor value has a NUL character",
        task=inputs("prompt: hi, environment: {'A=B': x, '': y, C: \"a\\0b\"}"),
    ),
    case(
        "templates",
        "t.yaml:3:3: inputs.prompt: there is no variable `Vars.color`; did you mean `Vars.colour`?",
        "t.yaml:3:3: inputs.prompt: there is no variable `Vars.shape`",
        "t.yaml:4:28: inputs.follow_up_prompts[1]: there is no variable `Vars.size`",
        "t.yaml:5:17: mock.turns[0].output: there is no variable `Vars.a`",
        "t.yaml:5:55: mock.judge.g[0].pass: there is no variable `Vars.b`",
        suite=SUITE + "inputs: {colour: red}\n",
        task="""\
id: t
inputs:
  prompt: 'hi {{.Vars.color}} {{ .Vars.shape }} {{.TaskName}} {{ x }}'
  follow_up_prompts: ['x', '{{.Vars.size}}']
mock: {turns: [{output: '{{.Vars.a}}'}], judge: {g: [{pass: '{{.Vars.b}}'}]}}
""",
    ),
    case(
        "templates: triggers",
        "t.yaml:2:16: triggers[1]: there is no variable `Vars.x`",
        task="name: t\ntriggers: [ok, '{{.Vars.x}}']\n",
    ),
    case(
        "mock",
        "t.yaml:4:3: mock.output: 'output' cannot be combined with 'turns'; move it into one of the turns",
        "t.yaml:5:20: mock.turns[0].files[0]: the path '../x' climbs with `..`; name a place inside the folder it belongs to",
        "t.yaml:5:44: mock.turns[0].delete[0]: the path '/y' is absolute; give it relative to the folder it belongs to",
        "t.yaml:6:29: mock.executions[0].judge.g[0]: a judge step is one of: pass, fail, winner, reply, error",
        "t.yaml:6:47: mock.executions[0].responder[0]: a responder step is one of: reply, stop: true, abstain",
        task=TASK
        + """\
mock:
  output: x
  turns: [{files: [{path: ../x}], delete: [/y]}]
  executions: [{judge: {g: [{}]}, responder: [{}]}]
""",
    ),
]
