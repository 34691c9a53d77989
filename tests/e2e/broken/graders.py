"""Graders that cannot be built."""

from __future__ import annotations

from tests.e2e.broken.case import SUITE, TASK, Case, case, directory, graded

CASES: list[Case] = [
    case(
        "keys beside config",
        "eval.yaml:5:27: graders[0].contains: unknown key 'contains'; it belongs under 'config:' of this grader",
        suite=SUITE + "graders:\n  - {type: text, name: g, contains: [XYZ]}\n",
    ),
    case(
        "a misspelt key",
        "eval.yaml:5:27: graders[0].wieght: unknown key 'wieght'; did you mean 'weight'?",
        suite=SUITE + "graders:\n  - {type: text, name: g, wieght: 2, config: {contains: [XYZ]}}\n",
    ),
    case(
        "a misspelt key of config",
        "eval.yaml:5:36: graders[0].config.contian: unknown key 'contian'; did you mean 'contains'?",
        suite=graded("text", "{contian: [x], contains: [y]}"),
    ),
    case(
        "keys of another grader",
        "eval.yaml:5:36: graders[0].config.must_exist: unknown key 'must_exist'; known: contains, contains_cs, not_contains, not_contains_cs, regex_match, regex_not_match",
        "eval.yaml:5:53: graders[0].config.weight: unknown key 'weight'; it belongs one level up, beside 'config:'",
        suite=graded("text", "{must_exist: [x], weight: 2, contains: [y]}"),
    ),
    case(
        "types that have a replacement",
        "eval.yaml:5:15: graders[0].type: there is no grader type 'regex'; use type: text with config: {regex_match: [...]}",
        "eval.yaml:6:15: graders[1].type: there is no grader type 'keyword'; use type: text with config: {contains: [...]}",
        "eval.yaml:7:15: graders[2].type: there is no grader type 'llm'; use type: prompt",
        "eval.yaml:8:15: graders[3].type: there is no grader type 'llm_comparison'; use type: prompt with config: {mode: pairwise}",
        "eval.yaml:9:15: graders[4].type: there is no grader type 'script'; use type: program",
        "eval.yaml:10:15: graders[5].type: there is no grader type 'human'; a person cannot grade a run: use type: prompt",
        suite=SUITE
        + """\
graders:
  - {name: a, type: regex, config: {pattern: x}}
  - {name: b, type: keyword}
  - {name: c, type: llm}
  - {name: d, type: llm_comparison}
  - {name: e, type: script}
  - {name: f, type: human}
""",
    ),
    case(
        "types that do not exist",
        "eval.yaml:5:15: graders[0].type: there is no grader type 'txt'; did you mean 'text'? types: {types}",
        "eval.yaml:6:15: graders[1].type: there is no grader type 'zzz'; types: {types}",
        "eval.yaml:7:5: graders[2]: the grader has no 'type'; types: {types}",
        suite=SUITE + "graders:\n  - {name: a, type: txt}\n  - {name: b, type: zzz}\n  - {name: c}\n",
    ),
    case(
        "wrong types of values",
        "eval.yaml:5:12: graders[0].type: must be a text, not a list",
        "eval.yaml:5:26: graders[0].name: must be a text, not a mapping",
        "eval.yaml:5:42: graders[0].weight: must be a number, not the text 'heavy'",
        "eval.yaml:5:57: graders[0].config: must be a mapping, not a list",
        "eval.yaml:6:5: graders[1]: must be a mapping of keys, not the text 'text'; write keys, such as type:, name:, weight:",
        suite=SUITE + "graders:\n  - {type: [text], name: {a: b}, weight: heavy, config: [x]}\n  - text\n",
    ),
    case(
        "weights that are no numbers",
        "eval.yaml:5:35: graders[0].weight: is .nan, but must be a finite number",
        "eval.yaml:6:35: graders[1].weight: must be a number, not the boolean true",
        "eval.yaml:7:35: graders[2].weight: is 1e400, but must be a finite number",
        suite=SUITE
        + """\
graders:
  - {name: a, type: text, weight: .nan, config: {contains: [y]}}
  - {name: b, type: text, weight: true, config: {contains: [y]}}
  - {name: c, type: text, weight: 1e400, config: {contains: [y]}}
""",
    ),
    case(
        "names twice",
        "eval.yaml:6:4: graders[1].name: the name 'text' is taken by graders[0]; give each grader its own name",
        "t.yaml:4:4: graders[0].name: the name 'text' is taken by a grader of the suite; give each grader its own name, or replace the suite's with override: true",
        suite=SUITE
        + "graders:\n- {name: text, type: text, config: {contains: [y]}}\n- {name: text, type: text, config: {contains: [z]}}\n",
        task=TASK + "graders:\n- {name: text, type: code, config: {assertions: ['1']}}\n",
    ),
    case(
        "assertions beside config",
        "t.yaml:4:3: graders[0].config: 'assertions' is missing",
        "t.yaml:4:25: graders[0].assertions: 'assertions' has no effect here; put it under 'config:'",
        task=TASK + "graders:\n- {name: g, type: code, assertions: ['len(output) > 0']}\n",
    ),
    case(
        "a rubric beside config",
        "eval.yaml:5:3: graders[0].config: has no instructions for the judge; set prompt, or rubric to a file or one of: groundedness, helpfulness, instruction-following, refusal-correctness, tool-use-appropriateness",
        "eval.yaml:5:27: graders[0].rubric: 'rubric' has no effect here; put it under 'config:'",
        suite=SUITE + "graders:\n- {name: g, type: prompt, rubric: helpfulness}\n",
    ),
    case(
        "nothing to check",
        "eval.yaml:5:5: graders[0].config: checks nothing; set one of contains, not_contains, contains_cs, not_contains_cs, regex_match, regex_not_match",
        "eval.yaml:6:48: graders[1].config.assertions: has 0 items, but must have at least 1",
        "eval.yaml:7:38: graders[2].config: 'command' is missing",
        "eval.yaml:8:29: graders[3].config: has no instructions for the judge; set prompt, or rubric to a file or one of: groundedness, helpfulness, instruction-following, refusal-correctness, tool-use-appropriateness",
        "eval.yaml:9:27: graders[4].config: checks nothing; set must_exist, must_not_exist or content_patterns",
        "eval.yaml:10:5: graders[5].config: checks nothing; set schema or schema_file",
        "eval.yaml:11:31: graders[6].config: checks nothing; set max_tool_calls, max_tokens, max_duration_ms, required_tools or forbidden_tools",
        "eval.yaml:12:5: graders[7].config: 'matching_mode' is missing",
        "eval.yaml:12:5: graders[7].config: 'expected_actions' is missing",
        "eval.yaml:13:5: graders[8].config: checks nothing; set required_skills or forbidden_skills",
        "eval.yaml:14:5: graders[9].config: 'skill_path' is missing",
        "eval.yaml:14:5: graders[9].config: 'mode' is missing",
        "eval.yaml:15:5: graders[10].config: 'expected_files' is missing",
        "eval.yaml:16:5: graders[11].config: checks nothing; set required_tools, forbidden_tools, min_calls, max_calls or expect",
        "eval.yaml:17:5: graders[12].config: checks nothing; set expect_tools, reject_tools or allow_only ('allow_only: []' allows no call)",
        suite=SUITE
        + """\
graders:
  - {name: a, type: text}
  - {name: b, type: code, config: {assertions: []}}
  - {name: c, type: program, config: {args: [x]}}
  - {name: d, type: prompt, config: {model: m}}
  - {name: e, type: file, config: {}}
  - {name: f, type: json_schema}
  - {name: g, type: behavior, config: {max_tool_calls: 0, max_tokens: 0}}
  - {name: h, type: action_sequence}
  - {name: i, type: skill_invocation}
  - {name: j, type: trigger}
  - {name: k, type: diff}
  - {name: l, type: tool_calls}
  - {name: m, type: tool_constraint}
""",
    ),
    case(
        "text",
        "eval.yaml:5:47: graders[0].config.contains[0]: must not be empty; every text holds the empty one",
        "eval.yaml:5:51: graders[0].config.contains[1]: must not be empty; every text holds the empty one",
        "eval.yaml:5:69: graders[0].config.not_contains: must be a list, not the text 'hello'; start each item with '- '",
        suite=graded("text", "{contains: ['', ~], not_contains: hello}"),
    ),
    case(
        "text: empty entries",
        "eval.yaml:5:47: graders[0].config.contains[0]: must not be empty; every text holds the empty one",
        "eval.yaml:5:51: graders[0].config.contains[1]: must not be empty; every text holds the empty one",
        suite=graded("text", "{contains: ['', ~]}"),
    ),
    case(
        "code",
        "eval.yaml:5:54: graders[0].config.assertions[1]: must not be empty",
        "eval.yaml:5:70: graders[0].config.language: the text 'ruby' is not one of: python, javascript",
        "eval.yaml:5:85: graders[0].config.timeout: is 0, but must be at least 1",
        suite=graded("code", "{assertions: ['1', ' '], language: ruby, timeout: 0}"),
    ),
    case(
        "program: NUL",
        "eval.yaml:5:39: graders[0].config.command: holds a NUL character; remove it",
        "eval.yaml:5:63: graders[0].config.args[0]: holds a NUL character; remove it",
        suite=graded("program", '{command: "a\\0b", args: ["c\\0d"]}'),
    ),
    case(
        "program: values",
        "eval.yaml:5:39: graders[0].config.command: warning: there is no program 'x', so every run fails this check; it is sought beside the suite, in the current directory and on PATH",
        "eval.yaml:5:57: graders[0].config.args: must be a list, not the text '-v'; start each item with '- '",
        "eval.yaml:5:70: graders[0].config.timeout: must be a whole number of at least 0, not the text '5m'",
        suite=graded("program", "{command: x, args: -v, timeout: 5m}"),
    ),
    case(
        "prompt: values",
        "eval.yaml:5:55: graders[0].config.mode: the text 'both' is not one of: independent, pairwise",
        "eval.yaml:5:72: graders[0].config.threshold: is 2, but must be at most 1",
        "eval.yaml:5:82: graders[0].config.model: must be a text, not a list",
        suite=graded("prompt", "{prompt: x, mode: both, threshold: 2, model: [m]}"),
    ),
    case(
        "prompt: an effort with the mock executor",
        "eval.yaml:5:49: graders[0].config.reasoning_effort: needs reasoning efforts, which the executor 'mock' does not offer; use executor: chat, claude or copilot-sdk, or another grader",
        suite=graded("prompt", "{prompt: x, reasoning_effort: high}"),
    ),
    case(
        "prompt: a rubric that is not there",
        "eval.yaml:5:38: graders[0].config.rubric: nope.md: there is no such rubric file; write the path relative to the suite's directory or to the current directory",
        suite=graded("prompt", "{rubric: nope.md}"),
    ),
    case(
        "prompt: a rubric in Latin-1",
        "eval.yaml:5:38: graders[0].config.rubric: r.md:1:4: the file is not UTF-8 text; save it as UTF-8",
        suite=graded("prompt", "{rubric: r.md}"),
        files={"r.md": b"caf\xe9"},
    ),
    case(
        "file: paths",
        "eval.yaml:5:49: graders[0].config.must_exist[0]: the path '../x' climbs with `..`; name a place inside the folder it belongs to",
        "eval.yaml:5:55: graders[0].config.must_exist[1]: the path '/etc/passwd' is absolute; give it relative to the folder it belongs to",
        "eval.yaml:5:68: graders[0].config.must_exist[2]: the path '.' names the workspace itself; name a place inside",
        "eval.yaml:5:94: graders[0].config.content_patterns[0].path: the path '../y' climbs with `..`; name a place inside the folder it belongs to",
        suite=graded(
            "file",
            "{must_exist: [../x, /etc/passwd, '.'], content_patterns: [{path: ../y, must_match: [x]}, {path: a}]}",
        ),
    ),
    case(
        "file: patterns",
        "eval.yaml:5:55: graders[0].config.content_patterns[0]: 'path' is missing",
        "eval.yaml:5:96: graders[0].config.content_patterns[1].must_match: must be a list, not the text 'x'; start each item with '- '",
        suite=graded("file", "{content_patterns: [{must_match: [x]}, {path: a, must_match: x}]}"),
    ),
    case(
        "json_schema: missing",
        "eval.yaml:5:43: graders[0].config.schema_file: 's.json' is not there; it is sought beside the suite, then in the current directory",
        suite=graded("json_schema", "{schema_file: s.json}"),
    ),
    case(
        "json_schema: a directory",
        "eval.yaml:5:43: graders[0].config.schema_file: 'd' cannot be read: Is a directory",
        suite=graded("json_schema", "{schema_file: d}"),
        files={"d": directory},
    ),
    case(
        "json_schema: a NUL",
        "eval.yaml:5:43: graders[0].config.schema_file: 'a\\x00b' is not there; it is sought beside the suite, then in the current directory",
        suite=graded("json_schema", '{schema_file: "a\\0b"}'),
    ),
    case(
        "json_schema: no schema",
        "eval.yaml:5:43: graders[0].config.schema: the JSON Schema cannot be used: /type: \"strin\" is not valid under any of the schemas listed in the 'anyOf' keyword",
        suite=graded("json_schema", "{schema: {type: strin}}"),
    ),
    case(
        "json_schema: NaN",
        "eval.yaml:5:59: graders[0].config.schema.const: .nan is not a finite number",
        suite=graded("json_schema", "{schema: {const: .nan}}"),
    ),
    case(
        "behavior: limits",
        "eval.yaml:5:56: graders[0].config.max_tool_calls: is -1, but must be at least 0",
        "eval.yaml:5:77: graders[0].config.max_duration_ms: must be a whole number of at least 0, not the text '5s'",
        "eval.yaml:5:81: graders[0].config.required_tool: unknown key 'required_tool'; did you mean 'required_tools'?",
        suite=graded("behavior", "{max_tool_calls: -1, max_duration_ms: 5s, required_tool: [x]}"),
    ),
    case(
        "action_sequence: the mode",
        "eval.yaml:5:88: graders[0].config.matching_mode: the text 'exact' is not one of: exact_match, in_order_match, any_order_match",
        suite=graded("action_sequence", "{expected_actions: [bash], matching_mode: exact}"),
    ),
    case(
        "skill_invocation: no mode",
        "eval.yaml:5:39: graders[0].config: 'mode' is missing; set mode to exact_match, in_order or any_order",
        suite=graded("skill_invocation", "{required_skills: [a]}"),
    ),
    case(
        "trigger: values",
        "eval.yaml:5:39: graders[0].config.skill_path: 'd' holds neither a SKILL.md nor an .agent.md; name the skill's own directory",
        "eval.yaml:5:54: graders[0].config.mode: 'maybe' is not a mode; write positive (the skill should fire) or negative (it should not)",
        suite=graded("trigger", "{skill_path: d, mode: maybe}"),
        files={"d": directory},
    ),
    case(
        "trigger: threshold",
        "eval.yaml:5:39: graders[0].config.skill_path: 'SKILL.md' does not exist; write the path of a SKILL.md relative to the suite's directory or to the current directory",
        "eval.yaml:5:88: graders[0].config.threshold: is 1.5, but must be at most 1",
        suite=graded("trigger", "{skill_path: SKILL.md, mode: positive, threshold: 1.5}"),
    ),
    case(
        "trigger: an empty skill",
        "eval.yaml:5:39: graders[0].config.skill_path: SKILL.md is empty; write the skill first",
        suite=graded("trigger", "{skill_path: SKILL.md, mode: positive}"),
        files={"SKILL.md": ""},
    ),
    case(
        "diff: entries",
        "eval.yaml:5:53: graders[0].config.expected_files[0]: checks nothing; set snapshot or contains",
        "eval.yaml:5:65: graders[0].config.expected_files[1].path: the path '../b' climbs with `..`; name a place inside the folder it belongs to",
        suite=graded("diff", "{expected_files: [{path: a}, {path: ../b, contains: [x]}]}"),
    ),
    case(
        "tool_calls: bounds",
        "eval.yaml:5:42: graders[0].config.min_calls: is 3, more than max_calls 2",
        suite=graded("tool_calls", "{min_calls: 3, max_calls: 2}"),
    ),
    case(
        "tool_calls: matchers",
        "eval.yaml:5:52: graders[0].config.expect[0].tool: the pattern '(' cannot be used: a group is not closed; add `)`, or write `\\(` for the sign itself",
        "eval.yaml:5:74: graders[0].config.expect[0].args.a.regex: the pattern '[' cannot be used: a character class is not closed; add `]`, or write `\\[` for the sign itself",
        "eval.yaml:5:87: graders[0].config.expect[0].args.b: a matcher has exactly one key, here are equals, contains; give one of equals, regex, contains, range, json_schema; use a second grader for a second condition",
        suite=graded(
            "tool_calls", "{expect: [{tool: '(', args: {a: {regex: '['}, b: {equals: 1, contains: x}}}]}"
        ),
    ),
    case(
        "tool_constraint: texts for specs",
        "eval.yaml:5:62: graders[0].config.expect_tools[0]: must be a mapping of keys, not the text 'bash'; write keys, such as tool:, command_pattern:, path_pattern:",
        suite=graded("tool_constraint", "{expect_tools: [bash]}"),
    ),
    case(
        "tool_constraint: patterns",
        "eval.yaml:5:63: graders[0].config.expect_tools[0].tool: the pattern '(?=a)' cannot be used: look-ahead `(?=` is not available in RE2; match the surrounding text itself, or write two patterns, one that must match and one that must not",
        "eval.yaml:5:105: graders[0].config.reject_tools[0].path_pattern: the pattern '*' cannot be used: there is nothing to repeat; for the sign itself put `\\` before it",
        suite=graded(
            "tool_constraint",
            "{expect_tools: [{tool: '(?=a)'}], reject_tools: [{tool: x, path_pattern: '*'}]}",
        ),
    ),
]
