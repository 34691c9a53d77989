"""Suite and task files that cannot be read."""

from __future__ import annotations

from tests.e2e.broken.case import Case, case, config, directory, link, pipe, sparse

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 8)
)
CHAIN = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 300))

CASES: list[Case] = [
    # The suite file.
    case("suite: missing", "missing.yaml: there is no such suite file", target="missing.yaml"),
    case(
        "suite: a directory",
        "Error: sub is a directory without eval.yaml, and so are all below it; name a suite file",
        target="sub",
        files={"sub": directory},
    ),
    case(
        "suite: a link to nothing",
        "link.yaml: is a link to nothing",
        target="link.yaml",
        files={"link.yaml": link("gone.yaml")},
    ),
    case(
        "suite: a circle of links",
        "a.yaml: the suite file cannot be read (Too many levels of symbolic links)",
        target="a.yaml",
        files={"a.yaml": link("b.yaml"), "b.yaml": link("a.yaml")},
    ),
    case(
        "suite: a pipe",
        "pipe.yaml: is no regular file, so no suite file",
        target="pipe.yaml",
        files={"pipe.yaml": pipe},
    ),
    case(
        "suite: larger than 20 MB",
        "big.yaml: this suite file is larger than 20 MB",
        target="big.yaml",
        files={"big.yaml": sparse(21 * 2**20)},
    ),
    case(
        "suite: empty",
        "eval.yaml:1:1: is not a suite: a mapping of keys belongs here; start with name:, skill:, config: and tasks:",
        suite="",
    ),
    case(
        "suite: only comments",
        "eval.yaml:1:1: is not a suite: a mapping of keys belongs here; start with name:, skill:, config: and tasks:",
        suite="# nothing\n# here\n",
    ),
    case(
        "suite: a list",
        "eval.yaml:1:1: is not a suite: a mapping of keys belongs here; start with name:, skill:, config: and tasks:",
        suite="- name: s\n",
    ),
    case(
        "suite: Latin-1",
        "eval.yaml:1:10: the file is not UTF-8 text; save it as UTF-8",
        suite="name: café\n".encode("latin-1"),
    ),
    case(
        "suite: UTF-16",
        "eval.yaml:1:1: the file is not UTF-8 text; save it as UTF-8",
        suite="name: s\n".encode("utf-16"),
    ),
    case(
        "suite: a NUL byte",
        "eval.yaml:2:9: the control character U+0000 is not allowed in YAML; remove it, or write it as an escape in double quotes",
        suite=b"name: s\nskill: a\0b\n",
    ),
    # YAML.
    case(
        "yaml: a tab",
        "eval.yaml:3:1: a tab cannot indent in YAML; indent with spaces",
        suite="name: s\nconfig:\n\texecutor: mock\n",
    ),
    case(
        "yaml: an open quote",
        "eval.yaml:1:7: not valid YAML: the quote that opens here is never closed",
        suite='name: "s\ntasks: [t.yaml]\n',
    ),
    case(
        "yaml: an open bracket",
        "eval.yaml:2:8: not valid YAML: a list in [...] wants a ',' between its items and a ']' at its end",
        suite="name: s\ntasks: [t.yaml\n",
    ),
    case(
        "yaml: two colons",
        "eval.yaml:1:8: not valid YAML: a ': ' is not allowed here; put the value in quotes, or correct the indentation",
        suite="name: s: t\n",
    ),
    case(
        "yaml: wrong indentation",
        "eval.yaml:4:2: not valid YAML: this does not fit the keys above; correct the indentation, or the quotes",
        suite="name: s\nconfig:\n  executor: mock\n model: m\n",
    ),
    case(
        "yaml: a key without colon",
        "eval.yaml:2:1: not valid YAML: there is no ': ' behind this key",
        suite="name: s\ntasks\n",
    ),
    case(
        "yaml: a star",
        "eval.yaml:3:5: not valid YAML: a text that starts with '*' or '&' must be put in quotes",
        suite="name: s\ntasks:\n  - *.yaml\n",
    ),
    case(
        "yaml: a percent sign",
        "eval.yaml:1:7: not valid YAML: a text that starts with this character must be put in quotes",
        suite="name: %s\n",
    ),
    case(
        "yaml: a backslash in double quotes",
        "t.yaml:2:19: not valid YAML: write a backslash in double quotes as two, or use single quotes",
        task='id: t\ninputs: {prompt: "\\d+"}\n',
    ),
    case(
        "yaml: an unquoted template",
        "t.yaml:3:12: a key must be a plain text; put a value that starts with '{' or '[' in quotes",
        task="id: t\ninputs:\n  prompt: {{.Vars.x}}\n",
    ),
    case(
        "yaml: a key twice in the suite",
        "eval.yaml:3:1: duplicate key 'name', on lines 1 and 3; keep one of them",
        suite="name: s\nconfig: {executor: mock}\nname: t\n",
    ),
    case(
        "yaml: a key twice in a task",
        "t.yaml:4:1: duplicate key 'graders', on lines 2 and 4; keep one of them",
        task="id: t\ngraders: []\ninputs: {prompt: hi}\ngraders: []\n",
    ),
    case(
        "yaml: an alias without anchor",
        "eval.yaml:1:7: the alias *s has no anchor &s before it",
        suite="name: *s\n",
    ),
    case(
        "yaml: an alias bomb",
        "eval.yaml:6:45: aliases make this file larger than 1,000,000 values",
        suite=BOMB,
    ),
    case("yaml: aliases nested too deep", "eval.yaml:100:12: nested deeper than 100 levels", suite=CHAIN),
    case(
        "yaml: brackets nested too deep",
        "eval.yaml:1:106: nested deeper than 100 levels",
        suite="name: " + "[" * 200 + "]" * 200 + "\n",
    ),
    case(
        "yaml: a number too long",
        "eval.yaml:5:20: a number of more than 400 digits; put it in quotes if it is a text",
        suite=config("timeout_seconds: " + "9" * 500),
    ),
    # Task files.
    case(
        "tasks: no key",
        "eval.yaml:1:1: tasks: 0 tasks selected: the suite names none; add tasks: ['tasks/*.yaml']",
        suite="name: s\nconfig: {executor: mock}\n",
    ),
    case(
        "tasks: an empty list",
        "eval.yaml:3:1: tasks: 0 tasks selected: the suite names none; add tasks: ['tasks/*.yaml']",
        suite="name: s\nconfig: {executor: mock}\ntasks: []\n",
    ),
    case(
        "tasks: a pattern without match",
        "eval.yaml:3:1: tasks: 0 tasks selected: no file matches none/*.yaml; patterns are relative to the suite's directory",
        suite="name: s\nconfig: {executor: mock}\ntasks: ['none/*.yaml']\n",
    ),
    case(
        "tasks: a malformed pattern",
        "eval.yaml:3:17: tasks[1]: the pattern '[t.yaml' opens '[' and never closes it",
        suite="name: s\nconfig: {executor: mock}\ntasks: [t.yaml, '[t.yaml']\n",
    ),
    case(
        "tasks: a NUL in a pattern",
        "eval.yaml:3:1: tasks: 0 tasks selected: no file matches a\\x00/*; patterns are relative to the suite's directory",
        suite='name: s\nconfig: {executor: mock}\ntasks: ["a\\0/*"]\n',
    ),
    case(
        "tasks: all disabled",
        "eval.yaml: 0 tasks selected: all are disabled",
        "eval.yaml:3:1: tasks: warning: 1 task is disabled: t; remove enabled: false to run what it is in",
        task="id: t\nenabled: false\ninputs: {prompt: hi}\n",
    ),
    case(
        "task: a directory", "t.yaml: is a directory, not a task file", task=None, files={"t.yaml": directory}
    ),
    case("task: a pipe", "t.yaml: is no regular file, so no task file", task=None, files={"t.yaml": pipe}),
    case(
        "task: a link to nothing",
        "t.yaml: is a link to nothing",
        task=None,
        files={"t.yaml": link("gone.yaml")},
    ),
    case(
        "task: a circle of links",
        "t.yaml: the task file cannot be read (Too many levels of symbolic links)",
        task=None,
        files={"t.yaml": link("t.yaml")},
    ),
    case(
        "task: empty",
        "t.yaml:1:1: must be a mapping of keys, not nothing; write keys, such as id:, name:, description:",
        task="",
    ),
    case(
        "task: Latin-1",
        "t.yaml:2:21: the file is not UTF-8 text; save it as UTF-8",
        task="id: t\ninputs: {prompt: café}\n".encode("latin-1"),
    ),
    case(
        "task: a control character",
        "t.yaml:2:20: the control character U+001B is not allowed in YAML; remove it, or write it as an escape in double quotes",
        task="id: t\ninputs: {prompt: 'a\x1bb'}\n",
    ),
    case(
        "tasks: several kinds at once",
        "a.task:1:1: must be a mapping of keys, not a list; write keys, such as id:, name:, description:",
        "b.task:1:5: not valid YAML: the quote that opens here is never closed",
        "c.task: is a link to nothing",
        "d.task: is a directory, not a task file",
        "eval.yaml:3:19: tasks[1]: warning: no file matches 'no.yaml'; patterns are relative to the suite's directory",
        suite="name: s\nconfig: {executor: mock}\ntasks: ['*.task', no.yaml]\n",
        files={"a.task": "- x\n", "b.task": "id: 'b\n", "c.task": link("gone"), "d.task": directory},
    ),
]
