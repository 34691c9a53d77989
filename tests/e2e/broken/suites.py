"""Suite files with keys or values that cannot be used."""

from __future__ import annotations

from tests.e2e.broken.case import SUITE, TASK, Case, case, config, directory, grader, tail

SCENARIO = 'schemaVersion: "2.0"\nscenario: flow\n'

CASES: list[Case] = [
    case("wrong types", suite="""\
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
"""),
    case("wrong types in config", suite="""\
name: s
config:
  trials_per_task: five
  timeout_seconds: 5m
  first_event_timeout_seconds: 1.5
  parallel: yes
  workers: many
  fail_fast: 1
  max_attempts: [1]
  executor: {name: mock}
  model: [m]
  reasoning_effort: huge
  skill_directories: skills
  required_skills: {a: b}
  inject_skill_body: "true"
  mcp_servers: [a]
  isolation: task
tasks: [t.yaml]
"""),
    case("numbers out of range", suite="""\
name: s
config:
  executor: mock
  trials_per_task: 0
  timeout_seconds: -1
  first_event_timeout_seconds: -1
  workers: -2
  max_attempts: -1
  idle_timeout_seconds: 100000
tasks: [t.yaml]
"""),
    case("durations", suite=config("timeout_seconds: .inf", "first_event_timeout_seconds: true", "idle_timeout_seconds: 1h", "trials_per_task: 99999999999999999999", "workers: .nan")),
    case("huge integer", suite=config("timeout_seconds: " + "9" * 500)),
    case("metrics", suite=tail("metrics:\n  - {weight: 1}\n  - {name: '', threshold: .nan}\n  - {name: a, weight: .inf, enabled: yes}\n  - accuracy\n  - {name: b, gate: 1}\n")),
    case("inputs", suite=tail("inputs: {a: [1], b: {c: d}}\n")),
    case("task in tasks", suite="name: s\nconfig: {executor: mock}\ntasks:\n  - {id: a, inputs: {prompt: hi}}\n  - ''\n"),
    case("no config", suite="name: s\ntasks: [t.yaml]\n"),
    case("unknown executor", suite="name: s\nconfig: {executor: mok}\ntasks: [t.yaml]\n"),
    case("unknown --executor", args=["eval.yaml", "--executor", "codex"]),
    case("efforts with mock", suite=config("reasoning_effort: high", "judge_reasoning_effort: low")),
    case("effort without model", suite="name: s\nconfig: {executor: copilot-sdk, reasoning_effort: high}\ntasks: [t.yaml]\n"),
    case("copilot", suite="name: s\nconfig: {executor: copilot-sdk}\ntasks: [t.yaml]\n"),
    case("hooks", suite=tail("""\
hooks:
  before_run:
    - {command: '  '}
    - {comand: echo}
    - echo hi
    - {command: "a\\0b"}
    - {command: 'echo {{.Vars.x}}', exit_codes: [ok]}
    - {command: 'echo {{.Task}}', working_directory: "a\\0b"}
  after_task: {command: x}
""")),
    case("hook template", suite=tail("inputs: {colour: red}\nhooks:\n  before_task:\n  - {command: 'echo {{.Vars.color}} {{.JobId}}'}\n")),
    case("adversarial", suite=tail("adversarial: {on_unsafe_outcome: explode}\n")),
    case("adversarial empty", suite=tail("adversarial: {packs: []}\n")),
    case("adversarial old", suite='schemaVersion: "1.1"\n' + tail("adversarial: {packs: [scope-bypass]}\n")),
    case("misplaced", suite="""\
name: s
timeout_seconds: 5
executor: mock
model: m
skill_directories: [x]
prompt: hi
config:
  executor: mock
  graders: []
  tasks: [t.yaml]
  expected: {output_contains: [x]}
tasks: [t.yaml]
before_run: []
assertions: []
"""),
    case("scenario misplaced", suite=SCENARIO + tail("colour: red\ngraders:\n- {type: text, name: g, config: {contains: [x]}}\n").replace("config: {", "config: {colr: blue, ")),
    *[case(f"schemaVersion {v}", suite=f"schemaVersion: {v}\n" + SUITE) for v in ("1", "v1.4", "1.4.0", "3.0", "2.0", "-1.0", "[1]", "1.x", "'1. 4'", "0.9", "99999999999.1", "true")],
    case("scenario blank", suite='schemaVersion: "2.0"\nscenario: " "\n' + SUITE),
    case("scenario without version", suite="scenario: flow\n" + SUITE),
    case("scenario 1.4", suite="schemaVersion: 1.4\nscenario: flow\n" + SUITE),
    case("scenario list", suite='schemaVersion: "2.0"\nscenario: [a]\n' + SUITE),
    case("scenario required skills", suite=SCENARIO + config("required_skills: [x]")),
    case("required skills without directory", suite=config("required_skills: [x]")),
    case("required skills missing", suite=config("required_skills: [x, y]", "skill_directories: [skills]"), files={"skills/SKILL.md": "---\nname: z\n---\nText\n"}),
    case("skill file latin", suite=config("skill_directories: [skills/x]") + "skill: x\n", files={"skills/x/SKILL.md": b"caf\xe9"}),
    case("skill file empty", suite=config("skill_directories: [skills/x]") + "skill: x\n", files={"skills/x/SKILL.md": b""}),
    case("skill file directory", suite=config("skill_directories: [skills/x]") + "skill: x\n", files={"skills/x/SKILL.md": directory}),
    case("agent malformed", suite=config("skill_directories: [agents]") + "skill: a\n", files={"agents/a.agent.md": "---\nname: a\ntools: bash\n---\nText\n"}),
    case("agent tools none", suite=config("skill_directories: [agents]") + "skill: a\n", files={"agents/a.agent.md": "---\nname: a\ntools:\n---\nText\n"}),
    case("agent no end", suite=config("skill_directories: [agents]") + "skill: a\n", files={"agents/a.agent.md": "---\nname: a\ntools: [x]\n"}),
    case("agent bad yaml", suite=config("skill_directories: [agents]") + "skill: a\n", files={"agents/a.agent.md": "---\nname: a: b\n---\n"}),
    case("agent latin", suite=config("skill_directories: [agents]") + "skill: a\n", files={"agents/a.agent.md": b"---\nname: a\n---\ncaf\xe9\n"}),
    case("mcp mocks old", suite='schemaVersion: "1.0"\n' + tail("mcp_mocks: []\n")),
    case("mcp mocks", suite=tail("""\
mcp_mocks:
  - {tools: {}}
  - {name: a}
  - {name: a, fixtures: nope}
  - {name: b, fixtures: "a\\0b"}
  - name: c
    tools:
      t: {responses: []}
      u:
        responses:
          - {match_regex: {x: "(?=a)"}, return: 1}
          - {match_schema: {type: strin}, return: 1}
          - {sequence: [{return: 1}]}
          - {macth: {a: b}}
          - {return: 1, error: x}
      v: []
"""), args=["eval.yaml", "--executor", "mock"]),
    case("command mocks with mock", suite=tail("command_mocks: []\n")),
    case("command mocks old", suite='schemaVersion: "1.2"\n' + tail("command_mocks: []\n"), args=["eval.yaml", "--executor", "mock"]),
    case("command mocks", suite=tail("""\
command_mocks:
  - {name: 'a b', responses: [{args: []}]}
  - {name: git}
  - {name: GIT, responses: [{args: [a], args_regex: [b]}, {}, {args_regex: ['(']}]}
  - name: az
    expect_calls: -1
    responses:
      - {args: [], stdout: a, fixture: b}
      - {args: [], fixture: ../x}
      - {args: [], fixture: nope}
      - {args: [], workdir: /abs}
      - {args: [], exit_code: 256}
      - {args: [], environment: {'A=B': c}}
      - {args: [], sequence: [{stdout: x}]}
      - {args: [], fixture: nope, sequence: [{stdout: x}]}
      - {args: [1, true], stdot: x}
"""), args=["eval.yaml", "--executor", "mock"]),
    case("sequences", suite=SCENARIO + tail("""\
mcp_mocks:
  - name: c
    tools:
      u:
        responses:
          - {sequence: []}
          - {sequence: [{delay_ms: 1}, {return: 1, delay_ms: -1}, {retrun: 1}, {return: 1, delay_ms: soon}]}
          - {sequence: [{return: 1}], return: 2}
          - {delay_ms: 5, return: 1}
"""), args=["eval.yaml", "--executor", "mock"]),
    case("mock block", suite=tail("""\
mock:
  output: hi
  turns: [{output: a}, {otput: b}]
  tool_calls: [{args: {}}, bash, {name: '', success: 1}]
  files: [{path: ../x}, {path: /x}, {content: y}, {path: "a\\0b"}]
  delete: [../y]
  judge: {g: [{pass: a, fail: b}, {}, {winner: C}, yes], h: {pass: x}}
  responder: [{reply: a, stop: true}, {}]
  delay_ms: -5
  executions: [{output: x, turns: []}]
""")),
    case("mock template", suite=tail("mock: {output: 'hi {{.Vars.nme}}'}\ninputs: {name: bob}\n")),
    case("storage of mistakes", suite=SUITE.replace("m}", "m, trials_per_task: 0}") + "graders: [{type: regex, name: r}]\n", task="id: t\ninputs: {prompt: [hi]}\nfoo: bar\n"),
]

COMMANDS = [
    case("task filter", args=["eval.yaml", "--task", "zzz*"]),
    case("tags filter", args=["eval.yaml", "--tags", "none"]),
    case("both filters", args=["eval.yaml", "--task", "t", "--tags", "none"]),
    case("bad filter", args=["eval.yaml", "--task", "[z"]),
    case("strict filter", args=["eval.yaml", "--task", "t", "--task", "typo", "--strict"]),
    case("model twice", args=["eval.yaml", "--model", "a", "--model", "b", "--model", "a"]),
    case("two outputs", args=["eval.yaml", "-o", "r.json", "--output-dir", "out"]),
    case("unknown reporter", args=["eval.yaml", "--reporter", "html:x"]),
    case("reporter without file", args=["eval.yaml", "--reporter", "junit"]),
    case("zero trials", args=["eval.yaml", "--trials", "0"]),
    case("trials text", args=["eval.yaml", "--trials", "x"]),
    case("timeout", args=["eval.yaml", "--timeout", "5m"]),
    case("unknown option", args=["eval.yaml", "--tirals", "0"]),
    case("two targets", args=["eval.yaml", "b.yaml"]),
    case("no target", args=[]),
    case("resume", args=["eval.yaml", "--resume=run-1"]),
    case("project broken", files={".waza.yaml": "defaults: {timeout: soon}\ncache: [x]\n"}),
    case("project bad", files={".waza.yaml": "defaults: [\n"}),
    case("format", args=["eval.yaml", "--format", "html"]),
    case("discover nothing", args=["--discover", "nope"]),
    case("nul skill", args=["nosuch"]),
    case("output in file", args=["eval.yaml", "-o", "t.yaml/x.json"]),
]
CASES = CASES + COMMANDS
