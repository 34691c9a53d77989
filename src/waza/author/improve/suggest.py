"""`waza suggest`: a suite for a skill or custom agent, suggested by a model in two questions.

The first chooses types of graders, the second writes the suite with tasks and fixtures. If the loader finds mistakes in them,
the model is shown these once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from waza.author.check.source import Source
from waza.author.improve.ask import Asker, AskError, compose, read_object
from waza.author.improve.suggestion import Suggestion, check_suggestion, read_suggestion
from waza.kit.text import pluralize
from waza.model.loaded import Project, Suite
from waza.suite.detect import DetectedSkill

GRADERS, SUITE, REPAIR = "suggest_graders", "suggest_suite", "suggest_repair"
"""The names by which a scripted judge knows the questions (`mock.judge.suggest_suite`)."""

FOCUS: Mapping[str, str] = {
    "triggers": "requests that the skill is for, in words that people use, so that tasks show whether it is invoked",
    "negative-triggers": "requests that are close to what the skill is for and belong elsewhere; their tasks have "
    "`expected: {should_trigger: false}`",
    "edge-fixtures": "unusual inputs: empty, huge, broken, in another encoding, without what the skill expects",
    "do-not-use-for": "each phrase behind DO NOT USE FOR in the description; their tasks have "
    "`expected: {should_trigger: false}`",
    "parameters": "each parameter of the skill, with usual, missing and wrong values",
}

_FEWEST, _MOST = 2, 5  # types of graders
# Types that need more than a suite can bring, or whose files a model cannot write.
_LEFT_OUT = frozenset(("diff", "evaluator", "program", "wgp"))

_FORMAT = """\
A suite file has these keys: `name`, `description`, `skill` (the name of the skill), `config` (`executor`, `model`,
`trials_per_task`, `timeout_seconds`), `graders` (a list that all tasks have) and `tasks` (patterns of task files). A task file
has `id`, `name`, `description`, `tags`, `inputs` (`prompt`; `files`, a list of `{path: NAME}`, each a file below `fixtures/`),
`expected` (such as `should_trigger`) and `graders`. A grader has `type`, `name` and `config`; names are unique in a task, those
of the suite included. Other keys are refused."""


class SuggestRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be suggested: how many tasks (0: as many as are needed), and on what they focus (a key of FOCUS).

    `suite` is the one that is there, if it can be loaded. `describe` returns the reference of a grader type,
    `grader_types` are all types with a sentence each.
    """

    target: DetectedSkill
    project: Project
    output_dir: Path
    suite: Suite | None
    count: int
    focus: str
    grader_types: Mapping[str, str]
    describe: Callable[[str], str]


async def suggest_suite(asker: Asker, request: SuggestRequest) -> Suggestion:
    """Return a suggestion that was checked by the loader; with mistakes where the model could not correct them.

    Raises AskError for answers that cannot be used, and NotAskedError in a preview.
    """
    source = Source(request.target.definition)
    types, notes = _read_types(await asker.ask(GRADERS, _ask_types(source, request)), request)
    question = _ask_suite(source, request, types)
    answer = await asker.ask(SUITE, question)
    found = _check(answer, request)
    if not found.is_valid:
        answer = await asker.ask(REPAIR, _ask_repair(question, answer, found))
        found = _check(answer, request)
    if request.count and len(found.tasks) != request.count:
        notes = [*notes, f"{request.count} tasks were asked for, and the model suggests {len(found.tasks)}"]
    return msgspec.structs.replace(found, notes=(*notes, *found.notes))


def _check(answer: str, request: SuggestRequest) -> Suggestion:
    suite_file = request.project.keys.files.evalFile
    return check_suggestion(read_suggestion(answer, request.output_dir, suite_file), request.target)


def _ask_types(source: Source, request: SuggestRequest) -> str:
    known = {name: text for name, text in request.grader_types.items() if name not in _LEFT_OUT}
    listed = "\n".join(f"- {name}: {text}" for name, text in known.items())
    task = f"""You prepare an evaluation suite for the {_kind(source)} below. Choose {_FEWEST} to {_MOST} of these types of graders:
those that can tell good work of an agent that uses it from bad work. Prefer graders that need no judge.{_describe_focus(request)}

{listed}

Answer with one JSON object and nothing else: {{"graders": ["<type>", ...]}}"""
    return compose(task, [(source.path.name, source.text)])


def _read_types(answer: str, request: SuggestRequest) -> tuple[list[str], list[str]]:
    """Return the types that a model chose, and what of its answer was left out."""
    value = read_object(answer, "graders")["graders"]
    named = [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
    usable = [one for one in dict.fromkeys(named) if one in request.grader_types and one not in _LEFT_OUT]
    if not usable:
        raise AskError(f"the answer names no type of grader that can be used: {value!r}")
    unknown = [one for one in named if one not in usable]
    notes = [f"the model chose a grader that cannot be used here: {one}" for one in unknown]
    return usable[:_MOST], notes


def _ask_suite(source: Source, request: SuggestRequest, types: Sequence[str]) -> str:
    many = pluralize(request.count, "task") if request.count else "three to six tasks"
    defaults = request.project.keys.defaults
    suite_file = request.project.keys.files.evalFile
    keeps = (request.output_dir / suite_file).is_file()
    there = "The suite file that is there stays; write tasks that fit it. " if keeps else ""
    task = f"""You write an evaluation suite for the {_kind(source)} below, with {many}. {there}{_describe_focus(request)}

{_FORMAT}

Use only these types of graders: {", ".join(types)}. Their references are below; the key `mock` of their examples is left out.
Each task gives the agent a request as people write it, with all that it needs, and has graders that a wrong answer fails.
Files are below `tasks/` and `fixtures/`; the suite lists `tasks/*.yaml`, and has `executor: {defaults.engine}` and
`model: {defaults.model}` in its config and `skill: {source.target.name}`.

Answer with one JSON object and nothing else:
{{"eval_yaml": "<text of {suite_file}>",
"tasks": [{{"path": "tasks/<name>.yaml", "content": "<text>", "confidence": "high|medium|low", "rationale": "<sentence>"}}],
"fixtures": [{{"path": "fixtures/<name>", "content": "<text>"}}]}}"""
    material = [(source.path.name, source.text)]
    if keeps:
        material.append((suite_file, (request.output_dir / suite_file).read_text("utf-8", "replace")))
    if request.suite is not None and request.suite.tasks:
        known = "\n".join(f"{task.id}: {task.prompt[:200]}" for task in request.suite.tasks)
        material.append(("Tasks that are there", known))
    material += [(f"Grader {name}", request.describe(name)) for name in types]
    return compose(task, material)


def _ask_repair(question: str, answer: str, found: Suggestion) -> str:
    task = """A suite that you wrote has mistakes. Correct them, and answer with the whole JSON object again and nothing else.
The mistakes, the question and your answer are below."""
    return compose(
        task, [("Mistakes", "\n".join(found.problems)), ("Question", question), ("Answer", answer)]
    )


def _kind(source: Source) -> str:
    return "skill" if source.target.kind == "skill" else "custom agent"


def _describe_focus(request: SuggestRequest) -> str:
    return f" Focus on {FOCUS[request.focus]}." if request.focus else ""
