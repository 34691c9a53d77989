"""Sound suites that are called in a way that cannot be served."""

from __future__ import annotations

from tests.e2e.broken.case import Case, case

CASES: list[Case] = [
    case(
        "a task that does not exist",
        "eval.yaml: 0 tasks selected: none matches --task 'zzz*'",
        args=["--task", "zzz*"],
    ),
    case(
        "a tag that does not exist",
        "eval.yaml: 0 tasks selected: none matches --tags none",
        args=["--tags", "none"],
    ),
    case(
        "a task and a tag that exclude each other",
        "eval.yaml: 0 tasks selected: none matches --task t --tags b",
        task="id: t\ntags: [a]\ninputs: {prompt: hi}\n",
        args=["--task", "t", "--tags", "b"],
    ),
    case(
        "a malformed filter", "--task: the pattern '[z' opens '[' and never closes it", args=["--task", "[z"]
    ),
    case(
        "a filter without match and --strict",
        "eval.yaml:1:1: graders: warning: 1 task has no check: t; without one a task passes whatever the agent does; add graders, or expected: to the task",
        "Error: --task: 'typo' matches no task; nothing was run (--strict)",
        args=["--task", "t", "--task", "typo", "--strict"],
    ),
    case(
        "a model twice", "--model: duplicate model 'a'", args=["--model", "a", "--model", "b", "--model", "a"]
    ),
    case(
        "an unknown executor",
        "--executor: there is no executor 'codex'; known: a2a, chat, claude, command, copilot-sdk, mock",
        args=["--executor", "codex"],
    ),
    case(
        "two places for results",
        "Error: -o and --output-dir exclude each other; keep one",
        args=["-o", "r.json", "--output-dir", "out"],
    ),
    case(
        "an unknown reporter",
        "Error: there is no reporter 'xml'; use json, json:PATH, html:PATH, junit:PATH or markdown:PATH, or install the package that brings it",
        args=["--reporter", "xml:x"],
    ),
    case(
        "a reporter without file",
        "Error: the reporter junit needs a file: junit:PATH",
        args=["--reporter", "junit"],
    ),
    case(
        "a broken project file",
        ".waza.yaml:1:21: defaults.timeout: must be a whole number of at least 0, not the text 'soon'",
        ".waza.yaml:2:8: cache: must be a mapping of keys, not a list; write keys, such as enabled:, dir:",
        files={".waza.yaml": "defaults: {timeout: soon}\ncache: [x]\n"},
    ),
    case(
        "a project file that is no YAML",
        ".waza.yaml:2:1: not valid YAML: a value is missing, or a bracket is not closed",
        files={".waza.yaml": "defaults: [\n"},
    ),
]
