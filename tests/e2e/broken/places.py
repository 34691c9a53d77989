"""Files that a suite names and that cannot be used; and paths that lead astray."""

from __future__ import annotations

from tests.e2e.broken.case import TASK, Case, case, config, directory, inputs, link, pipe, rows, sparse

CASES: list[Case] = [
    # Files that a task brings.
    case(
        "files: of every bad kind",
        "t.yaml:5:5: inputs.files[0].path: there is no file 'none.txt' in fixtures; paths are relative to the fixtures directory",
        "t.yaml:6:5: inputs.files[1].path: 'dir' is a directory; name its files, or copy all with inputs.context.fixture",
        "t.yaml:7:5: inputs.files[2].path: 'pipe' is no regular file",
        "t.yaml:8:5: inputs.files[3].path: 'dangling' is a link to nothing",
        "t.yaml:9:5: inputs.files[4].path: 'circle' is a link to nothing",
        "t.yaml:10:5: inputs.files[5].path: 'outside' leads outside of fixtures; put a copy there instead of a link",
        "t.yaml:11:5: inputs.files[6].path: the path '../t.yaml' climbs with `..`; name a place inside the folder it belongs to",
        "t.yaml:12:5: inputs.files[7].path: the path '/etc/passwd' is absolute; give it relative to the folder it belongs to",
        "t.yaml:13:5: inputs.files[8].path: the path 'C:\\\\a.txt' is absolute; give it relative to the folder it belongs to",
        "t.yaml:14:5: inputs.files[9].path: the path 'a\\x00b' holds a NUL character; remove it",
        "t.yaml:15:5: inputs.files[10].path: the path 'sub\\\\..\\\\..\\\\t.yaml' climbs with `..`; name a place inside the folder it belongs to",
        "t.yaml:16:6: inputs.files[11].path: the path '../out.txt' climbs with `..`; name a place inside the folder it belongs to",
        "t.yaml:17:5: inputs.files[12].path: 'huge' is larger than 256 MB",
        task="id: t\ninputs:\n  prompt: hi\n  files:\n"
        "  - path: none.txt\n  - path: dir\n  - path: pipe\n  - path: dangling\n  - path: circle\n  - path: outside\n"
        "  - path: ../t.yaml\n  - path: /etc/passwd\n  - path: 'C:\\a.txt'\n  - path: \"a\\0b\"\n"
        "  - path: 'sub\\..\\..\\t.yaml'\n  - {path: ../out.txt, content: x}\n  - path: huge\n",
        files={
            "fixtures/dir": directory,
            "fixtures/pipe": pipe,
            "fixtures/dangling": link("gone"),
            "fixtures/circle": link("circle"),
            "fixtures/outside": link("../t.yaml"),
            "fixtures/huge": sparse(300 * 2**20),
        },
    ),
    case(
        "files: the short form",
        "t.yaml:3:12: fixtures[0]: there is no file 'none.txt' in fixtures; paths are relative to the fixtures directory",
        "t.yaml:3:22: fixtures[1]: the path '../t.yaml' climbs with `..`; name a place inside the folder it belongs to",
        task="name: t\ntriggers: [hi]\nfixtures: [none.txt, ../t.yaml]\n",
    ),
    case(
        "instruction files",
        "eval.yaml:5:23: config.instruction_files[0]: there is no file 'a.md' in fixtures; paths are relative to the fixtures directory",
        "eval.yaml:5:29: config.instruction_files[1]: the path '../eval.yaml' climbs with `..`; name a place inside the folder it belongs to",
        "eval.yaml:5:43: config.instruction_files[2]: must not be empty",
        "eval.yaml:5:47: config.instruction_files[3]: the path 'a\\x00b' holds a NUL character; remove it",
        "t.yaml:3:21: instruction_files[0]: there is no file 'b.md' in fixtures; paths are relative to the fixtures directory",
        "t.yaml:3:27: instruction_files[1]: the path '/etc/passwd' is absolute; give it relative to the folder it belongs to",
        suite=config("instruction_files: [a.md, ../eval.yaml, '', \"a\\0b\"]"),
        task=TASK + "instruction_files: [b.md, /etc/passwd]\n",
    ),
    case(
        "context_dir",
        "t.yaml:3:1: context_dir: there is no directory 'nope'; paths are relative to the current directory, or else to the suite's",
        task=TASK + "context_dir: nope\n",
    ),
    case(
        "prompt_file: missing",
        "t.yaml:2:10: inputs.prompt_file: there is no file 'p.md'; paths are relative to the task file",
        task=inputs("prompt_file: p.md"),
    ),
    case(
        "prompt_file: a directory",
        "t.yaml:2:10: inputs.prompt_file: 'p.md' cannot be read (Is a directory)",
        task=inputs("prompt_file: p.md"),
        files={"p.md": directory},
    ),
    case(
        "prompt_file: a pipe",
        "t.yaml:2:10: inputs.prompt_file: 'p.md' cannot be read (not a regular file)",
        task=inputs("prompt_file: p.md"),
        files={"p.md": pipe},
    ),
    case(
        "prompt_file: a link out",
        "t.yaml:2:10: inputs.prompt_file: 'p.md' leads out of its folder through a symbolic link, so it is not read",
        task=inputs("prompt_file: p.md"),
        files={"p.md": link("/etc/passwd")},
    ),
    case(
        "prompt_file: climbs",
        "t.yaml:2:10: inputs.prompt_file: the path '../p.md' climbs with `..`; name a place inside the folder it belongs to",
        task=inputs("prompt_file: ../p.md"),
    ),
    case(
        "prompt_file: Latin-1",
        "t.yaml:2:10: inputs.prompt_file: 'p.md' is not UTF-8 text; save it as UTF-8",
        task=inputs("prompt_file: p.md"),
        files={"p.md": b"caf\xe9\n"},
    ),
    case(
        "context fixture: missing",
        "t.yaml:2:32: inputs.context.fixture: there is no 'nope' beside the suite",
        task=inputs("prompt: hi, context: {fixture: nope}"),
    ),
    case(
        "context fixture: climbs",
        "t.yaml:2:32: inputs.context.fixture: the path '../x' climbs with `..`; name a place inside the folder it belongs to",
        task=inputs("prompt: hi, context: {fixture: ../x}"),
    ),
    case(
        "context fixture: a list",
        "t.yaml:2:32: inputs.context.fixture: must be the path of a file or directory beside the suite",
        task=inputs("prompt: hi, context: {fixture: [a]}"),
    ),
    case(
        "context fixture: the suite",
        "t.yaml:2:32: inputs.context.fixture: is the suite's own directory; name a file or directory in it",
        task=inputs("prompt: hi, context: {fixture: ./}"),
    ),
    case(
        "context fixture: a link out",
        "t.yaml:2:32: inputs.context.fixture: 'out' leads outside of the suite's directory",
        task=inputs("prompt: hi, context: {fixture: out}"),
        files={"out": link("/etc")},
    ),
    case(
        "context fixture: a pipe",
        "t.yaml:2:32: inputs.context.fixture: 'p' is neither a file nor a directory",
        task=inputs("prompt: hi, context: {fixture: p}"),
        files={"p": pipe},
    ),
    # CSV.
    case(
        "csv: missing",
        "eval.yaml:3:1: tasks_from: there is no file 'a.csv'; the path is relative to the suite's directory",
        suite=rows(),
    ),
    case(
        "csv: a directory",
        "eval.yaml:3:1: tasks_from: 'a.csv' is no regular file; the path is relative to the suite's directory",
        suite=rows(),
        files={"a.csv": directory},
    ),
    case(
        "csv: a pipe",
        "eval.yaml:3:1: tasks_from: 'a.csv' is no regular file; the path is relative to the suite's directory",
        suite=rows(),
        files={"a.csv": pipe},
    ),
    case(
        "csv: a link out",
        "eval.yaml:3:1: tasks_from: 'a.csv' leads outside of the suite's directory",
        suite=rows(),
        files={"a.csv": link("/etc/passwd")},
    ),
    case(
        "csv: climbs",
        "eval.yaml:3:1: tasks_from: '../a.csv' leads outside of the suite's directory",
        suite=rows().replace("a.csv", "../a.csv"),
    ),
    case(
        "csv: a NUL in its name",
        "eval.yaml:3:1: tasks_from: holds a NUL character; remove it",
        suite=rows().replace("a.csv", '"a\\0b"'),
    ),
    case(
        "csv: Latin-1",
        "a.csv:3:1: the file is not UTF-8 text, but probably Latin-1 (ISO 8859-1); save it as UTF-8",
        suite=rows(),
        files={"a.csv": b"prompt\nok\ncaf\xe9\n"},
    ),
    case(
        "csv: a NUL byte",
        "a.csv:2:1: holds a NUL character; remove it",
        suite=rows(),
        files={"a.csv": "id,prompt\na,b\0\nc,d\n"},
    ),
    case(
        "csv: empty",
        "a.csv:1:1: the file is empty; its first row names the columns, one of them 'prompt'",
        suite=rows(),
        files={"a.csv": ""},
    ),
    case(
        "csv: only a header",
        "eval.yaml:3:1: tasks_from: 0 tasks selected: 'a.csv' has no row below its header",
        suite=rows(),
        files={"a.csv": "id,prompt\n"},
    ),
    case(
        "csv: nothing but a ragged row",
        "a.csv:2:1: row 1 has 1 field, and the header has 2; put a field that contains a comma in quotes",
        suite=rows(),
        files={"a.csv": "id,prompt\na\n"},
    ),
    case(
        "csv: ragged",
        "a.csv:4:1: row 2 has 3 fields, and the header has 2; put a field that contains a comma in quotes",
        suite=rows(),
        files={"a.csv": 'id,prompt\na,"b\nb"\nc,d,e\n'},
    ),
    case(
        "csv: text behind a quote",
        "a.csv:2:1: row 1 is not valid CSV: there is text after the closing quote of a field; double the quotes inside it",
        suite=rows(),
        files={"a.csv": 'id,prompt\na,"b" c\n'},
    ),
    case(
        "csv: an open quote",
        "a.csv:2:1: row 1 is not valid CSV: a quote opens a field and none closes it",
        suite=rows(),
        files={"a.csv": 'id,prompt\na,"b\nc,d\n'},
    ),
    case(
        "csv: an id twice",
        "a.csv:5:1: row 3, id: the task id 'a' is also used in a.csv:2; give each task its own id",
        suite=rows(),
        files={"a.csv": "id,prompt\na,b\n\nc,d\na,e\n"},
    ),
    case(
        "csv: an unknown variable",
        "a.csv:2:1: row 1, prompt: there is no variable `Vars.color`; did you mean `Vars.colour`?",
        suite=rows("inputs: {colour: red}\n"),
        files={"a.csv": "size,prompt\nbig,{{.Vars.color}} {{.Vars.size}}\n"},
    ),
    case(
        "csv: range from 0",
        "eval.yaml:4:1: range: [0, 1] starts below 1: rows count from 1, without the header",
        suite=rows("range: [0, 1]\n"),
        files={"a.csv": "prompt\na\nb\n"},
    ),
    case(
        "csv: range backwards",
        "eval.yaml:4:1: range: [2, 1] ends before it starts",
        suite=rows("range: [2, 1]\n"),
        files={"a.csv": "prompt\na\nb\n"},
    ),
    case(
        "csv: range behind the end",
        "eval.yaml:4:1: range: 0 tasks selected: 'a.csv' has only 2 rows",
        suite=rows("range: [3, 4]\n"),
        files={"a.csv": "prompt\na\nb\n"},
    ),
    case(
        "csv: range of one",
        "eval.yaml:4:8: range: has 1 item, but must have at least 2",
        suite=rows("range: [1]\n"),
        files={"a.csv": "prompt\na\nb\n"},
    ),
    case(
        "csv: range of words",
        "eval.yaml:4:9: range[0]: must be a whole number, not the text 'first'",
        "eval.yaml:4:16: range[1]: must be a whole number, not the number 1.5",
        suite=rows("range: [first, 1.5]\n"),
        files={"a.csv": "prompt\na\nb\n"},
    ),
    # Trigger tests.
    case(
        "trigger tests: empty",
        "trigger_tests.yaml:1:1: must be a mapping of keys, not nothing; write keys, such as skill:, should_trigger_prompts:, should_not_trigger_prompts:",
        files={"trigger_tests.yaml": ""},
    ),
    case(
        "trigger tests: no prompt",
        "trigger_tests.yaml:1:1: has no prompt; add should_trigger_prompts or should_not_trigger_prompts",
        files={"trigger_tests.yaml": "skill: s\n"},
    ),
    case(
        "trigger tests: a directory",
        "trigger_tests.yaml: is a directory, not a trigger test file",
        files={"trigger_tests.yaml": directory},
    ),
    case(
        "trigger tests: a link to nothing",
        "trigger_tests.yaml: is a link to nothing",
        files={"trigger_tests.yaml": link("gone")},
    ),
    case(
        "trigger tests: wrong values",
        "trigger_tests.yaml:1:1: skil: unknown key 'skil'; did you mean 'skill'?",
        "trigger_tests.yaml:1:1: 'skill' is missing; 'skil' is probably meant",
        "trigger_tests.yaml:3:12: should_trigger_prompts[0].prompt: must not be empty",
        "trigger_tests.yaml:3:28: should_trigger_prompts[0].confidence: the text 'sure' is not one of: high, medium",
        "trigger_tests.yaml:4:3: should_trigger_prompts[1]: must be a mapping of keys, not the text 'go'; write keys, such as prompt:, reason:, confidence:",
        files={
            "trigger_tests.yaml": "skil: s\nshould_trigger_prompts:\n- {prompt: '', confidence: sure}\n- go\n"
        },
    ),
    # Skills and agents.
    case(
        "skills: a required one cannot be read",
        "skills/x/SKILL.md:2:7: warning: not valid YAML: a list in [...] wants a ',' between its items and a ']' at its end",
        "eval.yaml:6:3: config.required_skills: required skills are missing: x; found none; searched skills/x, and the directories directly below",
        suite=config("skill_directories: [skills/x]", "required_skills: [x]"),
        files={"skills/x/SKILL.md": "---\nname: [x\n---\nbody\n"},
    ),
    case(
        "skill: Latin-1",
        "x/SKILL.md:1:4: the file is not UTF-8 text; save it as UTF-8",
        suite=config("skill_directories: [x]") + "skill: x\n",
        files={"x/SKILL.md": b"caf\xe9"},
    ),
    case(
        "skill: empty",
        "x/SKILL.md: the skill is empty; write its instructions, below a frontmatter with its name and description",
        suite=config("skill_directories: [x]") + "skill: x\n",
        files={"x/SKILL.md": ""},
    ),
    case(
        "skill: a NUL in a directory",
        "eval.yaml:5:23: config.skill_directories[0]: holds a NUL character; remove it",
        suite=config('skill_directories: ["a\\0b"]'),
    ),
    case(
        "skills: required, no directory",
        "eval.yaml:5:3: config.required_skills: needs config.skill_directories to look in",
        suite=config("required_skills: [x]"),
    ),
    case(
        "skills: required, missing",
        "eval.yaml:5:3: config.required_skills: required skills are missing: x, y; found z; searched a, and the directories directly below",
        suite=config("required_skills: [x, y]", "skill_directories: [a]"),
        files={"a/SKILL.md": "---\nname: z\ndescription: d\n---\nText\n"},
    ),
    case(
        "agent: tools are a text",
        "x/a.agent.md:3:8: tools: must be a list, not the text 'bash'; start each item with '- '",
        suite=config("skill_directories: [x]") + "skill: a\n",
        files={"x/a.agent.md": "---\nname: a\ntools: bash\ndescription: d\n---\nText\n"},
    ),
    case(
        "agent: tools without value",
        "x/a.agent.md:3:7: tools: has no value, which could mean all tools or none; write 'tools: []' to allow none, or drop the key to allow all",
        suite=config("skill_directories: [x]") + "skill: a\n",
        files={"x/a.agent.md": "---\nname: a\ntools:\ndescription: d\n---\nText\n"},
    ),
    case(
        "agent: open frontmatter",
        "x/a.agent.md:1:1: the frontmatter has no end; close it with a line '---' after its last key",
        suite=config("skill_directories: [x]") + "skill: a\n",
        files={"x/a.agent.md": "---\nname: a\ntools: [x]\n"},
    ),
    case(
        "agent: Latin-1",
        "x/a.agent.md:4:4: the file is not UTF-8 text; save it as UTF-8",
        suite=config("skill_directories: [x]") + "skill: a\n",
        files={"x/a.agent.md": b"---\nname: a\n---\ncaf\xe9\n"},
    ),
]
