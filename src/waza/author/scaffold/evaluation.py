"""`waza new eval`: a suite for a skill or custom agent that is there, made of what its description says."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import msgspec

from waza.author.scaffold.names import check_directory_name
from waza.author.scaffold.new_files import NewFiles
from waza.author.scaffold.place import NewExecutor, Place, schema_comment
from waza.author.scaffold.skill_text import prompts_of, text_of
from waza.author.scaffold.suite import NewSuite, add_suite, add_trigger_tests
from waza.author.scaffold.target import SAMPLE, UNRELATED
from waza.author.scaffold.template import fill_file
from waza.model.skill import Target
from waza.registry.scalar import format_scalar

_POSITIVE = 2  # tasks
_NOT_INJECTED = "inject_skill_body: false  # the agent has to find the skill, as its users' agents do"
_JUDGE = """\
- type: prompt
  name: does_what_was_asked
  config:
    prompt: |
      Judge two criteria, each with one call: the answer does what the prompt asks for; it claims nothing that was
      not done."""
_JUDGE_SCRIPT = """\
judge:
  does_what_was_asked: [{pass: It does so.}, {pass: It claims nothing else.}]"""


class _Case(msgspec.Struct, frozen=True, kw_only=True):
    """A file to work on: what the prompt says of it, the grader that a wrong answer fails, and a right answer.

    It makes a check where nobody sees whether the agent uses a skill.
    """

    request: str
    files: str
    grader: str
    answer: str


_CASES = (
    _Case(
        request="Do it for sample.py: name the functions that you find there, and what is left open.",
        files="files: [{path: sample.py}]  # from the folder fixtures",
        grader="""\
- type: text
  name: names_what_is_in_the_file
  config: {contains_cs: [order_total, format_price]}""",
        answer="sample.py has order_total and format_price. Left open: what should happen to a discount above 1?",
    ),
    _Case(
        request="Do it for empty.txt, and say what is in it.",
        files='files: [{path: empty.txt, content: ""}]',
        grader="""\
- type: text
  name: says_that_it_is_empty
  config: {regex_match: ["(?i)\\\\b(empty|no content|nothing in it)\\\\b"]}""",
        answer="empty.txt is empty. Which file do you mean?",
    ),
)


def suite_path(target: Target, place: Place, output: Path | None) -> Path:
    """Return the path of the suite of a skill or agent; `output` is its file or its directory."""
    if output is not None:
        return as_suite_file(output, place)
    if target.kind == "skill" and not place.has_skills:
        return target.directory / "evals" / place.eval_file
    return place.evals / check_directory_name(target.name) / place.eval_file


def as_suite_file(output: Path, place: Place) -> Path:
    """Return the suite file that a path means: itself, or the one in a directory."""
    return output if output.suffix in (".yaml", ".yml") else output / place.eval_file


def plan_evaluation(
    target: Target, place: Place, executor: NewExecutor, file: Path, *, judge: bool = False
) -> NewFiles:
    """Return the files of the suite: tasks that the target is for, one that it is not for, and trigger tests.

    Whether a skill is used when it should be is checked where that is seen; elsewhere tasks have a file to work on, and a
    grader of what is said about it. `judge`: a model grades the first task.
    """
    executor.require_judge(judge)
    text = text_of(target)
    positive = text.prompts
    negative = [one for one in [*prompts_of(text.anti_triggers), *UNRELATED] if one not in positive]
    triggers = not target.why_it_never_fires and executor.sees_skills
    kind = "skill" if target.kind == "skill" else "custom agent"
    suite = NewSuite(
        place=place,
        executor=executor,
        file=file,
        kind=kind,
        target=target.name,
        target_directory=target.directory,
        description=f"Whether the {kind} {target.name} does what it is for",
        config=_NOT_INJECTED if triggers else "",
        positive=positive if triggers else (),
        negative=negative,
    )
    files = NewFiles()
    add_suite(files, suite)
    add_trigger_tests(files, suite)
    if not triggers:
        for name, template in SAMPLE.items():
            files.add(suite.directory / "fixtures" / name, fill_file(template, {}))
    prompts = (positive * _POSITIVE)[:_POSITIVE]
    for number, prompt in enumerate(prompts, 1):
        _add_task(files, suite, number, prompt, triggers=triggers, judge=judge and number == 1)
    _add_task(files, suite, 1, negative[0] if triggers else UNRELATED[0], triggers=triggers, negative=True)
    return files


def _add_task(
    files: NewFiles,
    suite: NewSuite,
    number: int,
    prompt: str,
    *,
    triggers: bool,
    judge: bool = False,
    negative: bool = False,
) -> None:
    kind = "negative" if negative else "positive"
    name = f"{kind}-trigger-{number}"
    path = suite.place.task_file(suite.directory, name)
    what = f"the {suite.kind} {suite.target}"
    skills = "[]" if negative else f"[{format_scalar(suite.target)}]"
    case = None if triggers or negative else _CASES[number - 1]
    graders = [*([case.grader] if case else []), *([_JUDGE] if judge else [])]
    values = {
        "schema": schema_comment(path, suite.place.root, "task"),
        "id": name,
        "task_name": f"{'Not for' if negative else 'For'} the {suite.kind}, {number}",
        "description": format_scalar(f"A prompt that {what} is {'not ' if negative else ''}for."),
        "prompt": format_scalar(f"{prompt} {case.request}" if case else prompt),
        "files": case.files if case else "",
        "expected": _expected(negative=negative, triggers=triggers),
        "skills": f"skills: {skills}" if triggers else "",
        "output": format_scalar(
            case.answer if case else _answer(suite, negative=negative, triggers=triggers)
        ),
        "graders": "graders:\n" + indent("\n".join(graders), "  ") if graders else "",
        "judge_script": _JUDGE_SCRIPT if judge else "",
    }
    files.add(path, fill_file(f"eval/{kind}", values))


def _expected(*, negative: bool, triggers: bool) -> str:
    if triggers:
        return f"expected:\n  should_trigger: {'false' if negative else 'true'}"
    return "expected:\n  output_contains: [Lima]" if negative else ""


def _answer(suite: NewSuite, *, negative: bool, triggers: bool) -> str:
    if not negative:
        return f"Done, as {suite.target} says: every step, with what came of it."
    return "That is something else; here is a short answer." if triggers else "The capital of Peru is Lima."
