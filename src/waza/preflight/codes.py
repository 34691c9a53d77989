"""The codes of diagnostics of `waza preflight`: what they mean, what to do, and an example; `waza explain` prints it.

A diagnostic has the code of the kind of mistake as well (`problem`), which is finer; see `waza.problem_codes`.
"""

from __future__ import annotations

from waza.problem_codes import Explanation

DIAGNOSTICS: dict[str, Explanation] = {
    "context.directory": Explanation(
        "The fixtures directory of a task is something else than a directory.",
        "Name the directory that holds the fixtures.",
        "context_dir: data.csv",
    ),
    "context.fixture": Explanation(
        "The fixture of a context is not a file or directory that can be copied into workspaces.",
        "Name a file or directory below that of the suite, all of whose files can be read.",
        "inputs: {context: {fixture: ../data}}",
    ),
    "context.path": Explanation(
        "The fixtures directory of a task does not exist.",
        "Correct `context_dir`, which is relative to the current directory, or else to the suite.",
        "context_dir: gone",
    ),
    "dependency.live": Explanation(
        "Whether a live MCP server answers is known only in a run: it is always unresolved.",
        "Mock it with mcp_mocks, or make sure that it is available.",
        "config: {mcp_servers: {wiki: {command: wiki-server}}}",
    ),
    "dependency.mcp_configuration": Explanation(
        "The settings of an MCP server cannot be used.",
        "Write `command` for a program, or `url` for a server on the network.",
        "config: {mcp_servers: {wiki: {type: http}}}",
    ),
    "dependency.repository": Explanation(
        "A repository that a task needs is not there, or git would have to be asked whether it has the commit.",
        "Correct `source`, or make sure that the repository has the commit.",
        "inputs: {repos: [{type: worktree, source: ../app, commit: v2, dest: app}]}",
    ),
    "eval.configuration": Explanation(
        "The values of a suite are of the right form, and contradict one another or cannot be used.",
        "Follow the message, which names the key.",
        "mock: {output: done, turns: [{output: done}]}",
    ),
    "eval.read": Explanation(
        "The file of the suite cannot be read.",
        "Name a file that is there and that you may read.",
        "waza preflight evals/gone/eval.yaml",
    ),
    "eval.schema": Explanation(
        "The suite is not valid YAML, or a key of it is unknown, missing or of another type.",
        "Correct the place that the message names.",
        "tasks: tasks/*.yaml, where a list belongs",
    ),
    "expected.descriptive": Explanation(
        "A task describes outcomes or tool calls, which nothing checks.",
        "Nothing, if graders check what must hold; else write them.",
        "expected: {outcomes: [{type: file, value: NOTES.md}]}",
    ),
    "grader.cache": Explanation(
        "The module of a ref does not offer a usable grader or pack.",
        "Name an export or a file that the module has, or use another version of it.",
        "ref: github.com/acme/graders#greets@v1 where the manifest exports no 'greets'",
    ),
    "grader.cache_integrity": Explanation(
        "The files of a cached module are not those that waza.lock pins.",
        "Look at what changed, remove the cached module, and run `waza get` with the suite's file.",
        "a file below ~/.waza/cache/github.com/... was edited",
    ),
    "grader.cache_missing": Explanation(
        "The module of a ref is pinned, and is not in the cache. It is unresolved, since runs fetch nothing.",
        "Run `waza get` with the suite's file.",
        "a fresh checkout of the suite",
    ),
    "grader.configuration": Explanation(
        "A grader cannot be built as it is written: its type, a key of it, its config or its name.",
        "Follow the message; `waza grader show TYPE` describes the keys of a grader.",
        "graders: [{type: text, config: {contain: [x]}}]",
    ),
    "grader.execution": Explanation(
        "A grader runs a program, and whether that works is known only in a run.",
        "Make sure that the program is available; `waza grade` tries it on recorded results.",
        "graders: [{type: program, config: {command: ./check.sh}}]",
    ),
    "grader.lock": Explanation(
        "There is no waza.lock beside a suite with refs, or it cannot be read.",
        "Run `waza get` with the suite's file, and commit the lock.",
        "graders: [{ref: github.com/acme/graders#greets@v1}]",
    ),
    "grader.lock_entry": Explanation(
        "waza.lock does not know a ref of the suite.",
        "Run `waza get` with the suite's file.",
        "a ref whose version was changed by hand",
    ),
    "grader.merge": Explanation(
        "What a suite writes beside a ref contradicts the preset of the module.",
        "Remove the key that the preset decides.",
        "graders: [{ref: github.com/acme/graders#greets@v1, type: file}]",
    ),
    "grader.ref": Explanation(
        "A ref to a grader is not well-formed.",
        "Write HOST/OWNER/REPO, a path or #export, and @VERSION.",
        "ref: acme",
    ),
    "grader.result_collision": Explanation(
        "Graders in two scopes of a task have the same name, so that their results are hard to tell apart.",
        "Give each its own name.",
        "a grader 'words' of the suite, and another one at a checkpoint",
    ),
    "grader.trust": Explanation(
        "A grader from elsewhere runs a program, and waza.lock does not trust it.",
        "Look at the program, then run `waza registry add REF --allow-exec`.",
        "a ref to a preset of type program, fetched by `waza get` alone",
    ),
    "hooks.execution": Explanation(
        "What a hook does is known only in a run: it is always unresolved.",
        "Make sure that its program is available.",
        "hooks: {before_run: [{command: ./prepare.sh}]}",
    ),
    "instruction.file": Explanation(
        "An instruction file does not exist or cannot be read.",
        "Correct its path, which is relative to the fixtures directory of the task.",
        "config: {instruction_files: [rules.md]} without fixtures/rules.md",
    ),
    "instruction.path": Explanation(
        "The path of an instruction file leads out of the fixtures directory.",
        "Move the file below the fixtures directory.",
        "config: {instruction_files: [../rules.md]}",
    ),
    "mock.input_schema": Explanation(
        "The schema of the arguments of a mocked tool is not a JSON Schema.",
        "Correct the schema at the place that the message names.",
        "input_schema: {type: nothing}",
    ),
    "mock.mcp": Explanation(
        "A mocked MCP server, or a file with its tools, cannot be used.",
        "Correct the place that the message names.",
        "mcp_mocks: [{name: wiki, tools: {}}]",
    ),
    "mock.mcp_override": Explanation(
        "A mock takes the place of a configured MCP server of its name.",
        "Nothing, if that is meant; else rename the mock.",
        "mcp_mocks and config.mcp_servers with a server 'wiki' each",
    ),
    "requirement.invalid": Explanation(
        "A requirement, or one of its checks, is incomplete, duplicate, or has a value that is not allowed.",
        "Complete its id, category and description, and give each check a scope and a grader.",
        "requirements: [{id: r1, category: speed, description: It is fast}]",
    ),
    "requirement.references": Explanation(
        "A check of a requirement does not name exactly one grader of its scope.",
        "Name a grader that the scope has, once.",
        "checks: [{scope: task, grader: gone}]",
    ),
    "requirement.uncovered": Explanation(
        "A requirement has no check, so nothing in a run says whether it holds.",
        "Add checks that name graders.",
        "requirements: [{id: r1, category: quality, description: It is friendly}]",
    ),
    "resource.file": Explanation(
        "A file that a task copies, or that a mock answers with, does not exist or cannot be read.",
        "Correct the path; a before_run hook may create files of tasks.",
        "inputs: {files: [{path: input.txt}]} without fixtures/input.txt",
    ),
    "resource.path": Explanation(
        "A path leads out of the directory that it must be in.",
        "Write a relative path without `..`.",
        "inputs: {files: [{path: ../secret.txt}]}",
    ),
    "runtime.availability": Explanation(
        "Whether the executor can be started is known only in a run: it is always unresolved for agents.",
        "`waza doctor` says what real agents need. `--executor mock` does without.",
        "config: {executor: copilot-sdk}",
    ),
    "runtime.capability": Explanation(
        "The suite needs something that its executor cannot do or see.",
        "Use an executor that the message names, or remove what needs it.",
        "command_mocks: with executor: a2a",
    ),
    "runtime.executor": Explanation(
        "There is no executor of this name.",
        "Use mock, copilot-sdk, command, a2a, or the name of an installed package's executor.",
        "config: {executor: copilot}",
    ),
    "runtime.mcp": Explanation(
        "The suite declares MCP servers, and its executor knows none.",
        "Use executor: copilot-sdk, or remove the servers.",
        "mcp_mocks: with executor: mock",
    ),
    "runtime.tool_boundary": Explanation(
        "An agent limits its tools, and the executor does not hold it to them.",
        "Use executor: chat or copilot-sdk to hold the agent to its tools.",
        "an .agent.md with tools: [view], with executor: command",
    ),
    "skill.definition": Explanation(
        "The file of a skill or custom agent cannot be read, or lacks what agents need.",
        "Correct and complete the frontmatter and the instructions of the file.",
        "a SKILL.md without description",
    ),
    "skill.directory": Explanation(
        "An entry for a skill directory names none that can be used.",
        "Correct the path, which is relative to the suite.",
        "config: {skill_directories: [skils]}",
    ),
    "skill.required": Explanation(
        "A required skill was not found, or there is no directory to look in.",
        "Correct its name, or add its directory to config.skill_directories.",
        "config: {required_skills: [lint]} without config.skill_directories",
    ),
    "skill.target": Explanation(
        "The skill or agent under test was not found, is ambiguous, or is switched off.",
        "Correct its name, or write its path.",
        "skill: reviw, where the directory has a skill 'review'",
    ),
    "skills.discovery_disabled": Explanation(
        "No skill is looked for or offered in a task, as in any scenario that declares none.",
        "Nothing, if that is meant; else declare the skill, or skill_directories.",
        "config: {disabled_skills: ['*']}",
    ),
    "task.configuration": Explanation(
        "The values of a task are of the right form, and contradict one another or cannot be used.",
        "Follow the message, which names the key.",
        "inputs: {prompt: Hello, prompt_file: hello.md}",
    ),
    "task.executor": Explanation(
        "A task needs something that the executor of its suite cannot do or see.",
        "Use an executor that the message names, or remove what needs it.",
        "expected: {behavior: {max_tokens: 500}} with executor: command",
    ),
    "task.id": Explanation(
        "The id of a task is blank, or another task has it, which may be disabled.",
        "Give each task its own id.",
        "id: login in tasks/a.yaml and in tasks/b.yaml",
    ),
    "task.read": Explanation(
        "A task file cannot be read.",
        "Grant the right to read it, or remove what is no file of text.",
        "a link tasks/a.yaml to a file that is gone",
    ),
    "task.schema": Explanation(
        "A task is not valid YAML, or a key of it is unknown, missing or of another type.",
        "Correct the place that the message names.",
        "inputs: Say hello, where a mapping with a prompt belongs",
    ),
    "task.version": Explanation(
        "A task uses a key that the schemaVersion of its suite does not offer.",
        "Write a schemaVersion that offers it.",
        "command_mocks: in a task of a suite of schemaVersion 1.0",
    ),
    "tasks.csv": Explanation(
        "The CSV file of tasks cannot be read as rows, or `range` selects none of them.",
        "Separate fields by commas, name a column 'prompt', and give each row as many fields as the header.",
        "the row `1,Hello, world` below the header `id,prompt`",
    ),
    "tasks.empty": Explanation(
        "The suite has no task that would run.",
        "Enable tasks, or add some.",
        "a suite whose tasks all have enabled: false",
    ),
    "tasks.pattern": Explanation(
        "A pattern for tasks matches no file. A run goes on without the tasks that were meant; a preflight is stricter.",
        "Correct or remove the pattern, which is relative to the suite.",
        "tasks: ['tasks/*.yaml', 'more/*.yaml'] without a directory more",
    ),
    "trigger.configuration": Explanation(
        "The suite and its trigger_tests.yaml do not fit together.",
        "Name the same skill in both, and script each prompt exactly as it is written there.",
        "mock: {triggers: {hello: true}} where no trigger test has the prompt 'hello'",
    ),
    "trigger.read": Explanation(
        "trigger_tests.yaml cannot be read.",
        "Grant the right to read it, or remove it.",
        "a directory called trigger_tests.yaml",
    ),
    "trigger.schema": Explanation(
        "trigger_tests.yaml is not valid YAML, or a key of it is unknown, missing or of another type.",
        "Correct the place that the message names.",
        "should_trigger_prompts: [Say hello], where mappings with a prompt belong",
    ),
}
