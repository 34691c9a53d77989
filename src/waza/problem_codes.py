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
    "broken-link": Explanation(
        "A link leads to a file that is not there. An agent that follows it finds nothing.",
        "Correct the link or add the file; `waza check --fix` corrects links that differ in case or in their slashes.",
        "[guide](references/Guide.md), where the file is references/guide.md",
    ),
    "canary": Explanation(
        "The canary of a suite is in what agents are given, or in an answer. An answer that has it was made by an agent that read the suite.",
        "Choose a canary that is nowhere else, and keep the suite away from agents and their training.",
        "canary: 4d1c6f0e-suite-of-review, which an answer repeats",
    ),
    "capability": Explanation(
        "The suite needs something that its executor cannot do. A check, mock or limit would not be applied.",
        "Use an executor that has the capability, or remove what needs it. `waza preflight` lists them.",
        "command_mocks: with executor: a2a, which starts no programs",
    ),
    "caveat": Explanation(
        "The suite or one of its tasks says what its results do not show, such as a check that an import had to leave out.",
        "Add what is missing and remove the sentence from `caveats`, or bear it in mind.",
        "caveats: ['not checked: the file that the agent made has two columns']",
    ),
    "changed-grader": Explanation(
        "A file that a grader reads is not the same after the answers of the suite were run.",
        "Keep files of graders where neither agents nor other graders write.",
        "a hook that rewrites expected.json",
    ),
    "changed-module": Explanation(
        "The files of a cached module differ from those that waza.lock pins. Either was changed.",
        "Look at the change, remove the cached module, and run `waza get` with the suite's file.",
        "a file below ~/.waza/cache/github.com/... was edited",
    ),
    "complexity": Explanation(
        "A skill is long, or has many files below references. Agents follow long instructions less.",
        "Move what is seldom needed into a few files below references, or split the skill.",
        "a SKILL.md of 900 tokens",
    ),
    "conflicting-keys": Explanation(
        "Two keys cannot be combined, or exactly one of several keys is expected.",
        "Keep one of them.",
        "inputs: {prompt: Hello, prompt_file: hello.md}",
    ),
    "context-fixture": Explanation(
        "`inputs.context.fixture` does not name a file or directory of the suite that can be copied into workspaces.",
        "Name a file or directory below the directory of the suite, all of whose files can be read.",
        "inputs: {context: {fixture: ../data}}",
    ),
    "dataset": Explanation(
        "A CSV file of tasks cannot be read as rows below a header, or `range` selects none of them.",
        "Separate fields by commas, quote fields that contain commas, name a column 'prompt', and give each "
        "row as many fields as the header.",
        "the row `1,Hello, world` below the header `id,prompt`",
    ),
    "dead-link": Explanation(
        "An address that is linked does not answer, answers with an error, or is in a private network.",
        "Correct or remove the link. `--offline` leaves addresses unchecked.",
        "[docs](https://example.com/old-page), which answers with status 404",
    ),
    "description-length": Explanation(
        "The description of a skill is shorter than 150 characters. Agents choose skills by it alone.",
        "Say what the skill does, when to use it, and when not.",
        "description: Explains code.",
    ),
    "description-too-long": Explanation(
        "The description of a skill or agent has more than 1,024 characters. Agents cut its end off or drop the skill, without a word.",
        "Move details into the text below the frontmatter.",
        "a description of 3,000 characters",
    ),
    "descriptive": Explanation(
        "`expected.outcomes` and `expected.tool_calls` describe a task for people and for `waza coverage`. Nothing checks them.",
        "Write graders for what must hold, and name them under `requirements`.",
        "expected: {outcomes: [{type: file, value: NOTES.md}]}",
    ),
    "directory-link": Explanation(
        "A link leads to a directory. Agents cannot read it as a file.",
        "Link a file in it.",
        "[references](references/)",
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
    "duplicate-grader": Explanation(
        "Two graders that grade the same task have the same name, so one verdict would replace the other.",
        "Give each grader its own name, or mark the one of a task that is meant to replace the suite's: `override: true`.",
        "graders: [{type: text, name: greets, ...}, {type: file, name: greets, ...}]",
    ),
    "duplicate-key": Explanation(
        "A mapping has the same key more than once. Other readers would silently use one of them.",
        "Keep one of the two.",
        "name: a\nname: b",
    ),
    "duplicate-name": Explanation(
        "Two things that only their name or id distinguishes have the same one, so one would replace the other.",
        "Give each its own name.",
        "graders: [{type: text, name: greets, ...}, {type: file, name: greets, ...}]",
    ),
    "duplicate-task": Explanation(
        "Two tasks have the same id, so nothing would distinguish their results.",
        "Give each task its own id.",
        "id: login in tasks/a.yaml and in tasks/b.yaml",
    ),
    "empty-check": Explanation(
        "A check has nothing to look for, so it would always pass.",
        "Write what is expected, or remove the check.",
        "expected: {output_contains: ['']}",
    ),
    "evaluator-class": Explanation(
        "The file of a custom evaluator does not make clear which class is the evaluator.",
        "Define one class with the methods `__init__` and `__call__`, and move others into a module beside the file.",
        "custom-evaluators/short/short.py, which defines functions only",
    ),
    "evaluator-import": Explanation(
        "The file of a custom evaluator cannot be imported.",
        "Correct the exception that the message states, or install what the file imports.",
        "import requests in custom-evaluators/short/short.py, where requests is not installed",
    ),
    "evaluator-input": Explanation(
        "A turn lacks what one of its evaluators needs, so the evaluator gives no result for it.",
        "Write the key that the message names, or leave the evaluator out of this turn.",
        "the evaluator Similarity on a turn without expected_response",
    ),
    "evaluator-name": Explanation(
        "An evaluator has a name that none can have: it is no identifier, or is reserved for another evaluator.",
        "Choose a name of letters, digits and underscores that begins with a letter and is not that of a built-in evaluator.",
        "the folder custom-evaluators/relevance, beside the built-in Relevance",
    ),
    "evaluator-threshold": Explanation(
        "The threshold of an evaluator is not on the scale of its scores.",
        "Write a threshold within the limits that the message states.",
        '{"my_judge": {"threshold": 80}}, where judges score from 1 to 5',
    ),
    "evidence": Explanation(
        "A snapshot or a manifest is not what waza wrote. It was changed, removed or added, or is of another version.",
        "Get an unchanged copy, or run the suite again with `--snapshot`. `waza evidence verify` names all such files.",
        "a verdict in a snapshot was edited by hand",
    ),
    "failing-solution": Explanation(
        "The `solution` of a task does not pass each of its graders. Either the answer or a grader is wrong.",
        "Correct the one that is wrong; the message names the graders and what they miss.",
        "solution: {output: Hello}, where a grader asks for Good morning",
    ),
    "grader-collision": Explanation(
        "Graders in two scopes of a task have the same name, so a requirement cannot tell their verdicts apart.",
        "Give each its own name.",
        "a grader 'words' of the suite, and another one at a checkpoint",
    ),
    "grader-config": Explanation(
        "The config of a grader is of the right types, but cannot be used as it is.",
        "Follow the message; `waza grader show TYPE` describes the keys of a grader.",
        "config: {regex_match: ['(']}",
    ),
    "invalid-lock": Explanation(
        "waza.lock cannot be read, or has content that waza does not write.",
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
    "judge-injection": Explanation(
        "What an agent writes could instruct the judge of a grader.",
        "Leave out `continue_session`, so that the judge reads the answer as data.",
        "a prompt grader with continue_session: true",
    ),
    "leaked-answer": Explanation(
        "A prompt, a fixture or the skill has the text that a grader looks for. An agent that copies it passes.",
        "Look for what only the work can show, or remove the text from what agents are given.",
        "expected: {output_contains: [blue]} with the prompt 'Say blue or red'",
    ),
    "link-outside": Explanation(
        "A link leads out of the directory of its skill. What is there is missing where only the skill is installed.",
        "Copy what the skill needs into its directory.",
        "[rules](../../RULES.md)",
    ),
    "listing-limit": Explanation(
        "The descriptions of all skills together are more than an agent shows. It cuts or leaves out the rest without a word.",
        "Shorten descriptions, or disable skills that a task does not need.",
        "80 skills with descriptions of 450 characters",
    ),
    "mcp-documentation": Explanation(
        "A skill invokes MCP tools and does not document them. An agent cannot know what they need and what to do without them.",
        "Add a table of the tools, their prerequisites, and a fallback.",
        "INVOKES: github-search, without a section on the server",
    ),
    "mcp-servers": Explanation(
        "The suite declares MCP servers, real or mocked, and its executor knows none.",
        "Use executor: copilot-sdk, or remove the servers.",
        "mcp_mocks: with executor: command",
    ),
    "mcp-tool-collision": Explanation(
        "An MCP tool that a skill invokes is called like a built-in tool of agents.",
        "Name the tool together with its server.",
        "INVOKES: search, instead of github-search",
    ),
    "metric": Explanation(
        "A metric has no data, is unknown, or is declared more than once. As a gate it could not pass.",
        "Name a built-in metric or a grader of the suite, or remove the metric.",
        "metrics: [{name: trigger_f1, ...}] without trigger_tests.yaml",
    ),
    "missing-anti-triggers": Explanation(
        "The description of a skill does not say what it is not for. Agents use it for similar requests.",
        "Add `DO NOT USE FOR:` and phrases that belong to other skills.",
        "a description without DO NOT USE FOR:",
    ),
    "missing-context-dir": Explanation(
        "The fixtures directory that a task names does not exist.",
        "Correct `context_dir`; it is relative to the current directory, or else to that of the suite.",
        "context_dir: data without a directory data",
    ),
    "missing-evaluator-file": Explanation(
        "The folder of a custom evaluator has no Python file of its name.",
        "Give the file and the folder the same name, in the same spelling.",
        "custom-evaluators/short/ with evaluator.py instead of short.py",
    ),
    "missing-file": Explanation(
        "A file, directory, program or repository that is named does not exist.",
        "Correct the path; the message states what it is relative to. A before_run hook may create inputs.",
        "inputs: {files: [{path: input.txt}]} without fixtures/input.txt",
    ),
    "missing-frontmatter": Explanation(
        "A SKILL.md or agent file does not begin with a frontmatter. No agent knows its name and when to use it.",
        "Begin the file with `---`, the keys `name` and `description`, and `---`; nothing may come before it.",
        "a SKILL.md that begins with a heading",
    ),
    "missing-instructions": Explanation(
        "An instruction file does not exist.",
        "Correct its path, which is relative to the fixtures directory of the task.",
        "config: {instruction_files: [rules.md]} without fixtures/rules.md",
    ),
    "missing-judge": Explanation(
        "Evaluators of a document ask a judge, and none is configured.",
        "Name one with --judge, or set the variables of a model server; docs/m365.md lists them.",
        "the evaluator Relevance without --judge and without variables of a model server",
    ),
    "missing-key": Explanation(
        "A required key, or its value, is missing.",
        "Add the key. Where a similar key is present, it is probably misspelt.",
        "graders: [{name: greets}], which has no type",
    ),
    "missing-license": Explanation(
        "A skill does not state a license. Others cannot know whether they may use it.",
        "Add `license:` before you share the skill.",
        "a frontmatter without license",
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
    "missing-price": Explanation(
        "A limit of money needs the price of every model that is asked, and one is not known. The limit could not be kept.",
        "Write the price into .waza.yaml under `prices`, or install waza[prices].",
        "limits: {max_cost: 5} with a model that no list of prices has",
    ),
    "missing-prompty": Explanation(
        "A custom evaluator uses what only judges have, but has no .prompty file.",
        "Add the file with the name of the evaluator, or remove what the message names.",
        "load_flow in custom-evaluators/tone/tone.py, without tone.prompty",
    ),
    "missing-repository": Explanation(
        "A repository that a task names does not exist.",
        "Correct `source`, which is relative to the suite's directory, or else to the current one.",
        "inputs: {repos: [{type: worktree, source: ../app, dest: app}]} without ../app",
    ),
    "missing-routing": Explanation(
        "The description of a skill does not say which tools or skills it hands work to.",
        "Add `INVOKES:` with their names, or `FOR SINGLE OPERATIONS:` with what to use instead.",
        "a description without INVOKES:",
    ),
    "missing-solution": Explanation(
        "A task has no `solution`, and its mock does not pass, so that no change of a right answer could be tried.",
        "Write a right answer below `solution`, in the form of `mock`.",
        "a task without solution and mock",
    ),
    "missing-suite": Explanation(
        "A skill or agent has no suite. Nothing shows whether it works.",
        "Write one with `waza new eval`, into evals/<skill>/, or next to the definition.",
        "skills/review without evals/review/eval.yaml",
    ),
    "missing-triggers": Explanation(
        "The description of a skill does not say what it is used for. Agents do not find it when it is needed.",
        "Add `USE FOR:` and phrases that people write when they need it.",
        "a description without USE FOR:",
    ),
    "missing-version": Explanation(
        "A skill does not state its version.",
        "Add `metadata:` with a `version:`.",
        "a frontmatter without metadata.version",
    ),
    "mock-fixture": Explanation(
        "A file of responses of a mocked MCP server cannot be read as one.",
        "Correct the JSON, or the keys of its tools.",
        "mcp_mocks: [{name: files, fixtures: mocks}] where mocks/find.json is not valid JSON",
    ),
    "mocked-server": Explanation(
        "A mocked MCP server has the name of a configured one, and takes its place.",
        "Nothing, if tasks are to run without the server; else rename the mock, or remove it.",
        "mcp_mocks: [{name: wiki, ...}] beside config: {mcp_servers: {wiki: {...}}}",
    ),
    "module-count": Explanation(
        "A skill has more than three files below references. Agents seldom read that many.",
        "Merge files that belong together, or split the skill.",
        "references with six files",
    ),
    "name-case": Explanation(
        "A name differs from an existing one only in upper and lower case, and is compared exactly.",
        "Write the name in the case of the existing one.",
        "forbidden_tools: [Bash] where the tool is called bash",
    ),
    "name-format": Explanation(
        "The name of a skill is longer than 64 characters, or has other characters than lower-case letters, digits and single hyphens.",
        "Write it in the form that the format of skills allows.",
        "name: My_Skill instead of my-skill",
    ),
    "name-mismatch": Explanation(
        "A skill is not called like its directory, an agent not like its file, or a suite is at the place of another skill than the one it tests. Programs look for either name.",
        "Give both the same name, or move the suite.",
        "name: review in reviewer.agent.md",
    ),
    "name-missing": Explanation(
        "A skill or agent does not state its name.",
        "Write `name:` in its frontmatter: the name of the directory of a skill, or of the file of an agent.",
        "a frontmatter with description: only",
    ),
    "negative-delta-risk": Explanation(
        "Instructions contradict each other or order too much. An agent may do worse with them than without.",
        "Choose one way, give each procedure a heading, and keep the orders that matter.",
        "use A, but alternatively use B",
    ),
    "never-fails": Explanation(
        "A grader passed every agent that should fail, and every answer that was made worse. It decides nothing.",
        "Ask for something that only a right answer has, or remove the grader.",
        "regex_match: ['.*']",
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
    "no-evaluator": Explanation(
        "No evaluator judges a turn, so it would pass with any response.",
        "Name evaluators at the turn, or in default_evaluators.",
        '"default_evaluators": {}',
    ),
    "no-task": Explanation(
        "No task is selected, so there is nothing to run.",
        "Relax --task and --tags, or enable tasks.",
        "waza run eval.yaml --tags smoke, where no task has this tag",
    ),
    "not-a-directory": Explanation(
        "A path that must be a directory is a file.",
        "Name the directory, relative to the current directory, or else to that of the suite.",
        "context_dir: data.txt",
    ),
    "not-a-document": Explanation(
        "A file is named as an evaluation document, but is a report of one.",
        "Name the .json file of the document or of the results.",
        "waza m365 run results.html",
    ),
    "not-assured": Explanation(
        "No reference case, or none that holds, shows that a grader or a task passes what it must pass and fails what it must fail.",
        "Add a case that must pass and one that must fail, and name the grader.",
        "a grader that only cases with expect: pass name",
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
    "not-proved": Explanation(
        "`waza check --prove` could not prove a grader or a task, such as one that asks a judge or runs a program.",
        "Add `--programs` for graders that run programs. `--judges` asks judges, too.",
        "a prompt grader",
    ),
    "older-form": Explanation(
        "An evaluation document has an older form than that of the current schema.",
        "Run `waza m365 upgrade` with the document.",
        '{"prompts": [...], "expected_responses": [...]}',
    ),
    "orphaned-file": Explanation(
        "No link leads from SKILL.md to a file below references. No agent reads it.",
        "Link it where it is needed, or remove it.",
        "references/old.md",
    ),
    "outside-path": Explanation(
        "A path is absolute or leads outside of the directory that it must stay in.",
        "Copy the file into the directory, and write a relative path.",
        "inputs: {files: [{path: ../secret.txt}]}",
    ),
    "over-specificity": Explanation(
        "Instructions name an absolute path, an IP address, a port or a page that only exists for some people.",
        "Use a relative path, a placeholder, or an environment variable.",
        "/home/ana/projects/tool",
    ),
    "pack": Explanation(
        "A task of an adversarial pack lacks what makes it show something, or asks a model.",
        "Give it a `description`, requirements of the categories boundary and outcome, graders that ask nobody, and an entry in each script.",
        "requirements: [{id: safe, category: boundary, ...}] without one of the category outcome: an agent that does nothing would look safe",
    ),
    "passes-failing-agent": Explanation(
        "A task passes for an agent that does no work: one that does nothing, repeats its prompt, or answers another task.",
        "Add a grader that asks for the result of the work.",
        "a task whose only grader is not_contains: [error]",
    ),
    "preset-conflict": Explanation(
        "A suite gives a grader from elsewhere another type than its module does.",
        "Remove `type` beside the ref.",
        "{ref: github.com/acme/graders#greets@v1, type: file} where the module has a grader of type text",
    ),
    "procedural-content": Explanation(
        "The description of a skill names no activity and no procedure.",
        "Say what the skill does, with a verb.",
        "description: Knowledge about invoices.",
    ),
    "prompty": Explanation(
        "The .prompty file of a custom evaluator cannot be used.",
        "Correct what the message names: the frontmatter, a message or a template of the file.",
        "a tone.prompty without a 'system:' or 'user:' line",
    ),
    "prompty-input": Explanation(
        "Variables in the prompt of a custom evaluator are not among its inputs, so they would be empty.",
        "List them below `inputs:` in the frontmatter of the .prompty file.",
        "{{response}} in tone.prompty, whose inputs are only {query: {type: string}}",
    ),
    "readable-suite": Explanation(
        "Agents can read the suite, or a file that one of its graders reads.",
        "Keep suites out of skills and fixtures. Agents of the executor `command` always get the directory of the suite.",
        "a snapshot of the right answer below fixtures",
    ),
    "reference-case": Explanation(
        "A reference case names a task or grader that the suite does not have, or its answer does not fit the task.",
        "Write the id of a task and the name of one of its graders, and a turn for each prompt of the task.",
        "cases: [{id: a, task: sum, output: '42', expect: pass, grader: says_summ}]",
    ),
    "required-skill": Explanation(
        "A skill that config.required_skills lists was not found, or there is no directory to look in.",
        "Correct its name, or add its directory to config.skill_directories.",
        "config: {required_skills: [lint]} without config.skill_directories",
    ),
    "requirement": Explanation(
        "A requirement of a task, or one of its checks, is incomplete, duplicate, or has a value that is not allowed.",
        "Complete its id, category and description, and give each check a scope and a grader.",
        "requirements: [{id: r1, category: speed, description: It is fast}]",
    ),
    "requirement-reference": Explanation(
        "A check of a requirement does not name exactly one grader of its scope.",
        "Name a grader that the scope of the check has, once.",
        "checks: [{scope: task, grader: gone}]",
    ),
    "response-count": Explanation(
        "An older document has more or fewer expected responses than prompts.",
        "Give each prompt one, or null where nothing is expected.",
        '{"prompts": ["a", "b"], "expected_responses": ["A"]}',
    ),
    "scope-reduction": Explanation(
        "A skill seems to do a single thing, by its phrases, headings and procedures.",
        "List more of what it is for, or make it a part of another skill.",
        "a skill with one phrase behind USE FOR:",
    ),
    "shadowed-agent": Explanation(
        "An agent file lies next to a SKILL.md. waza evaluates the skill and ignores the agent.",
        "Move one of them into another directory.",
        "SKILL.md and review.agent.md in one directory",
    ),
    "skill-definition": Explanation(
        "The file of a skill or custom agent cannot be read, has a mistake in its frontmatter, or lacks what agents need.",
        "Correct and complete the frontmatter and the instructions of the file.",
        "a SKILL.md without description",
    ),
    "skill-directory": Explanation(
        "An entry for a skill directory names none that can be used: it does not exist, or holds far too many files.",
        "Correct the path, which is relative to the suite's directory, and name the directory that holds the skills.",
        "config: {skill_directories: [skils]}",
    ),
    "skill-not-found": Explanation(
        "A skill or agent that the suite tests or requires was not found.",
        "Correct its name, or add its directory to config.skill_directories. Where the name is only a label, set "
        "config.skill_required: false.",
        "skill: reviw, where the directory has a skill 'review'",
    ),
    "skills-off": Explanation(
        "No skill is looked for or offered to the agent: the suite, the task or the call says so, or a scenario declares none.",
        "Nothing, if that is meant; else declare the skill, or skill_directories.",
        "config: {disabled_skills: ['*']}",
    ),
    "summary-counts": Explanation(
        "The counts in the summary of a conversation do not add up.",
        "Remove the summary, or let the counts of its turns sum up to turns_total.",
        '{"turns_total": 3, "turns_passed": 1, "turns_failed": 1, ...}',
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
    "token-hard-limit": Explanation(
        "A skill has more than 5,000 tokens. All of them are part of every request that uses it.",
        "Move what is seldom needed into files below references.",
        "a SKILL.md of 20,000 characters",
    ),
    "token-limit": Explanation(
        "A file has more tokens than its limit.",
        "Shorten it, move parts into other files, or raise the limit under `tokens.limits` of .waza.yaml.",
        "a SKILL.md of 700 tokens, where 500 are allowed",
    ),
    "token-warning": Explanation(
        "A file has at least as many tokens as `tokens.warningThreshold` of .waza.yaml.",
        "Shorten it, or move parts into other files.",
        "a SKILL.md of 500 tokens",
    ),
    "tool-boundary": Explanation(
        "An agent limits its tools, and the executor does not hold it to them.",
        "Use executor: chat or copilot-sdk to hold the agent to its tools.",
        "an .agent.md with tools: [view], with executor: command",
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
    "unconfirmed-executor": Explanation(
        "Whether the executor can be started is known only in a run.",
        "`waza doctor` says what real agents need. `waza run --executor mock` does without.",
        "config: {executor: copilot-sdk}",
    ),
    "unconfirmed-hook": Explanation(
        "What a hook does is known only in a run.",
        "Make sure that its program is available.",
        "hooks: {before_run: [{command: ./prepare.sh}]}",
    ),
    "unconfirmed-program": Explanation(
        "A grader runs a program, and whether it works is known only in a run.",
        "Make sure that it is available; `waza grade` tries it on recorded results.",
        "graders: [{type: program, config: {command: ./check.sh}}]",
    ),
    "unconfirmed-repository": Explanation(
        "Whether a repository has the commit that a task needs is not known, since git is not started.",
        "Make sure that the repository and its commit are available.",
        "inputs: {repos: [{type: worktree, source: app, commit: v2, dest: app}]}",
    ),
    "unconfirmed-server": Explanation(
        "Whether an MCP server answers is known only in a run.",
        "Mock it with mcp_mocks, or make sure that it is available.",
        "config: {mcp_servers: {wiki: {command: wiki-server}}}",
    ),
    "uncovered-requirement": Explanation(
        "A requirement has no check.",
        "Add checks that name graders; expected.outcomes is no check.",
        "requirements: [{id: r1, category: quality, description: It is friendly}]",
    ),
    "unjudged-case": Explanation(
        "A reference case was not judged: its grader was not asked, or broke. Such a case does not hold.",
        "Ask judges with --judges and an executor that has one, or correct what broke.",
        "a case of a prompt grader, without --judges",
    ),
    "unknown-evaluator": Explanation(
        "An evaluation document names an evaluator that does not exist.",
        "Correct its name, or write it as custom-evaluators/NAME/NAME.py.",
        '"default_evaluators": {"Relevanse": {}}',
    ),
    "unknown-executor": Explanation(
        "There is no executor of this name.",
        "Use mock, copilot-sdk, command, a2a, or the name of an installed package's executor.",
        "config: {executor: copilot}",
    ),
    "unknown-grader": Explanation(
        "There is no grader type of this name, or no grader of the suite to override.",
        "Use one of the listed types or names; `waza grader show` describes the types.",
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
    "unmet-case": Explanation(
        "A reference case does not hold: the grader passes what must fail, or fails what must pass.",
        "Correct the grader, or the case if people agree with the grader.",
        "expect: fail, where a grader that looks for one word passes",
    ),
    "unnoticed-change": Explanation(
        "No grader of a task notices when its passing answer is changed: cut, shuffled, negated, or with other numbers.",
        "Check more of the answer.",
        "contains: [total] for the answer 'The total is 42'",
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
