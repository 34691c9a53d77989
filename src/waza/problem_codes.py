"""What the codes of problems mean, how to solve such a problem, and an example; `waza explain` prints it."""

from __future__ import annotations

from typing import NamedTuple

from waza.problem import Code


class Explanation(NamedTuple):
    """The three paragraphs on a code. The first sentence of `meaning` is also its line in the list of codes."""

    meaning: str
    remedy: str
    example: str


EXPLANATIONS: dict[Code, Explanation] = {
    "ambiguous-skill": Explanation(
        "Two skills or agents in one directory have the name under test. waza does not choose between them.",
        "Rename one of them, or write the path of the intended file.",
        "skill: skills/review/SKILL.md instead of skill: review",
    ),
    "capability": Explanation(
        "The suite needs something that its executor cannot do. A check, mock or limit would not be applied.",
        "Use an executor that has the capability, or remove what needs it. `waza preflight` lists them.",
        "command_mocks: with executor: a2a, which starts no programs",
    ),
    "changed-module": Explanation(
        "The files of a cached module differ from those that waza.lock pins. Either was changed.",
        "Look at the change, remove the cached module, and run `waza get` with the suite's file.",
        "a file below ~/.waza/cache/github.com/... was edited",
    ),
    "conflicting-keys": Explanation(
        "Two keys cannot be combined, or exactly one of several keys is expected.",
        "Keep one of them.",
        "inputs: {prompt: Hello, prompt_file: hello.md}",
    ),
    "dataset": Explanation(
        "A CSV file of tasks cannot be read as rows below a header, or `range` selects none of them.",
        "Separate fields by commas, quote fields that contain commas, name a column 'prompt', and give each "
        "row as many fields as the header.",
        "the row `1,Hello, world` below the header `id,prompt`",
    ),
    "disabled-skill": Explanation(
        "The skill under test is switched off by config.disabled_skills.",
        "Remove the entry, or test another skill. `--no-skills` runs without any skill.",
        "skill: review together with config: {disabled_skills: [review]}",
    ),
    "disabled-task": Explanation(
        "Tasks of the suite are disabled and do not run.",
        "Remove `enabled: false` from the task file to run them.",
        "enabled: false in tasks/login.yaml",
    ),
    "duplicate-key": Explanation(
        "A mapping has the same key more than once. Other readers would silently use one of them.",
        "Keep one of the two.",
        "name: a\nname: b",
    ),
    "duplicate-name": Explanation(
        "Two things that are told apart by their name or id have the same one, so one would replace the other.",
        "Give each its own name.",
        "graders: [{type: text, name: greets, ...}, {type: file, name: greets, ...}]",
    ),
    "empty-check": Explanation(
        "A check has nothing to look for, so it would always pass.",
        "Write what is expected, or remove the check.",
        "expected: {output_contains: ['']}",
    ),
    "evaluator": Explanation(
        "An evaluator of a Microsoft 365 evaluation document is unknown, cannot be used, or has no result to give.",
        "Correct its name or its file, or give the turns what it needs.",
        "the evaluator Similarity on a turn without expected_response",
    ),
    "grader-config": Explanation(
        "The config of a grader is of the right types, but cannot be used as it is.",
        "Follow the message; docs/checks.md describes the keys of each grader.",
        "config: {regex_match: ['(']}",
    ),
    "invalid-lock": Explanation(
        "waza.lock has content that waza does not write.",
        "Run `waza get` with the suite's file to write the lock again.",
        "commit: main, which is not a commit of 40 hexadecimal digits",
    ),
    "invalid-module": Explanation(
        "The module of a ref does not offer a usable grader.",
        "Name an export or a file that the module has, or use another version of the module.",
        "ref: github.com/acme/graders#greets@v1 where the manifest exports no 'greets'",
    ),
    "invalid-ref": Explanation(
        "A ref to a grader is not well-formed.",
        "Write HOST/OWNER/REPO, a path or #export, and @VERSION.",
        "ref: acme",
    ),
    "invalid-value": Explanation(
        "A value is of the right type, but not one that is allowed.",
        "Use one of the listed values, or a value within the limits that the message states.",
        "config: {trials_per_task: 0}",
    ),
    "metric": Explanation(
        "A metric has no data, is unknown, or is declared more than once. As a gate it could not pass.",
        "Name a built-in metric or a grader of the suite, or remove the metric.",
        "metrics: [{name: trigger_f1, ...}] without trigger_tests.yaml",
    ),
    "missing-file": Explanation(
        "A file, directory, program or repository that is named does not exist.",
        "Correct the path; the message states what it is relative to. A before_run hook may create inputs.",
        "inputs: {files: [{path: input.txt}]} without fixtures/input.txt",
    ),
    "missing-key": Explanation(
        "A required key, or its value, is missing.",
        "Add the key. Where a similar key is present, it is probably misspelt.",
        "graders: [{name: greets}], which has no type",
    ),
    "missing-lock": Explanation(
        "The suite uses graders from elsewhere, and there is no waza.lock beside it.",
        "Run `waza get` with the suite's file, and commit the lock.",
        "graders: [{ref: github.com/acme/graders#greets@v1}]",
    ),
    "missing-module": Explanation(
        "The module of a ref is pinned by waza.lock, but is not in the module cache. Runs fetch nothing.",
        "Run `waza get` with the suite's file.",
        "a fresh checkout of the suite, before `waza get`",
    ),
    "name-case": Explanation(
        "A name differs from an existing one only in upper and lower case, and is compared exactly.",
        "Write the name in the case of the existing one.",
        "forbidden_tools: [Bash] where the tool is called bash",
    ),
    "never-invoked": Explanation(
        "The suite expects a skill to be invoked that an agent can never invoke.",
        "Let models invoke the skill (disable-model-invocation: false), or remove the expectation.",
        "should_trigger: true for a skill with disable-model-invocation: true",
    ),
    "no-effect": Explanation(
        "A key or file has no effect where it is, or together with the other settings.",
        "Move it to where it has one, or remove it.",
        "range: [1, 5] without tasks_from",
    ),
    "no-task": Explanation(
        "No task is selected, so there is nothing to run.",
        "Relax --task and --tags, or enable tasks.",
        "waza run eval.yaml --tags smoke, where no task has this tag",
    ),
    "not-checked": Explanation(
        "Something that the suite expects cannot be observed with its settings, so it is not checked.",
        "Extend the script of the mock, or change the setting that the message names.",
        "expected: {should_trigger: true} with a mock whose turns have no skills",
    ),
    "not-locked": Explanation(
        "waza.lock has no entry for a ref of the suite.",
        "Run `waza get` with the suite's file.",
        "a ref that was added to the suite by hand",
    ),
    "outside-path": Explanation(
        "A path is absolute or leads outside of the directory that it must stay in.",
        "Copy the file into the directory, and write a relative path.",
        "inputs: {files: [{path: ../secret.txt}]}",
    ),
    "preset-conflict": Explanation(
        "A suite gives a grader from elsewhere another type than its module does.",
        "Remove `type` beside the ref.",
        "{ref: github.com/acme/graders#greets@v1, type: file} where the module has a grader of type text",
    ),
    "requirement": Explanation(
        "A requirement of a task is incomplete, or its checks do not name exactly one grader each.",
        "Complete its id, category and description, and name graders of the scope of each check.",
        "requirements: [{id: r1, ..., checks: [{scope: task, grader: gone}]}]",
    ),
    "skill-definition": Explanation(
        "The file of a skill or custom agent lacks something that agents need.",
        "Complete the frontmatter and the instructions of the file.",
        "a SKILL.md without description",
    ),
    "skill-not-found": Explanation(
        "A skill or agent that the suite tests or requires was not found.",
        "Correct its name, or add its directory to config.skill_directories. Where the name is only a label, set "
        "config.skill_required: false.",
        "skill: reviw, where the directory has a skill 'review'",
    ),
    "syntax": Explanation(
        "A file is not valid YAML, JSON or Markdown with frontmatter.",
        "Correct the file at the reported line and column.",
        "name: 'greets",
    ),
    "template": Explanation(
        "A {{...}} reference is malformed, names an unknown variable, or is where its value would be unsafe.",
        'Use the variables of the run and of the suite\'s inputs; {{"{{"}} writes two braces.',
        "prompt: Hello {{.Vars.nmae}}",
    ),
    "trigger-tests": Explanation(
        "The suite and its trigger_tests.yaml do not fit together.",
        "Name the same skill in both, and script each prompt exactly as it is written there.",
        "mock: {triggers: {hello: true}} where no trigger test has the prompt 'hello'",
    ),
    "unchecked-task": Explanation(
        "A task has no check, so it passes whatever the agent does.",
        "Add graders to the suite or the task, or `expected` to the task.",
        "a suite without graders whose task has only inputs",
    ),
    "unconfirmed": Explanation(
        "`waza preflight` found something that only a run can confirm.",
        "Make sure that it is available, or mock it.",
        "hooks: {before_run: [{command: ./prepare.sh}]}",
    ),
    "unknown-executor": Explanation(
        "There is no executor of this name.",
        "Use mock, copilot-sdk, command, a2a, or the name of an installed package's executor.",
        "config: {executor: copilot}",
    ),
    "unknown-grader": Explanation(
        "There is no grader type of this name, or no grader of the suite to override.",
        "Use one of the listed types or names; docs/checks.md describes the graders.",
        "graders: [{type: regex, ...}], which is type: text with regex_match",
    ),
    "unknown-key": Explanation(
        "A key is not known where it is. It is an error where a check would be silently missing, else a warning.",
        "Correct its spelling, or move it to where it belongs.",
        "gradres: [...]",
    ),
    "unknown-tool": Explanation(
        "The tools: of a custom agent name a tool that no known server has, so it would grant nothing.",
        "Write mcp:SERVER-TOOL as the server names it, or extend the mock.",
        "tools: ['mcp:weather-forcast'] where the server has 'forecast'",
    ),
    "unmatched-pattern": Explanation(
        "A pattern for tasks matches nothing.",
        "Correct it; patterns in the suite are relative to its directory.",
        "tasks: ['task/*.yaml'] where the directory is called tasks",
    ),
    "unreadable-file": Explanation(
        "A file or directory exists, but cannot be read: permissions, its kind, its size or its encoding forbid it.",
        "Follow the message: grant the right to read it, name a regular file, or save it as UTF-8.",
        "tasks_from: tasks.csv, saved as Latin-1",
    ),
    "untrusted-module": Explanation(
        "A grader from elsewhere runs a program, and waza.lock does not trust it.",
        "Look at the program, then run `waza registry add REF --allow-exec`.",
        "a grader of type program behind a ref that was fetched by `waza get` alone",
    ),
    "version": Explanation(
        "A version is not valid, is not one that this waza reads, or does not offer a key that is used.",
        "Write a schemaVersion that offers what the file uses, and that this waza reads.",
        "schemaVersion: '1.0' together with mcp_mocks",
    ),
    "wrong-type": Explanation(
        "A value is of another type than the expected one.",
        "Write a value of the expected type; the message states what was found.",
        "tasks: tasks/*.yaml, where a list belongs",
    ),
}
