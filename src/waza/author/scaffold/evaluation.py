"""`waza new eval`: a suite for a skill or custom agent that is there, made of what its description says."""

from __future__ import annotations

from pathlib import Path

from waza.author.scaffold.names import check_directory_name
from waza.author.scaffold.new_files import NewFiles
from waza.author.scaffold.place import NewExecutor, Place, schema_comment
from waza.author.scaffold.skill_text import prompts_of, text_of
from waza.author.scaffold.suite import NewSuite, add_suite, add_trigger_tests
from waza.author.scaffold.target import UNRELATED
from waza.author.scaffold.template import fill_file
from waza.model.skill import Target
from waza.registry.scalar import format_scalar

_POSITIVE = 2  # tasks
_NOT_INJECTED = "inject_skill_body: false  # the agent has to find the skill, as its users' agents do"
_JUDGE = """\
graders:
  - type: prompt
    name: does_what_was_asked
    config:
      prompt: |
        Judge two criteria, each with one call: the answer does what the prompt asks for; it claims nothing that was
        not done."""
_JUDGE_SCRIPT = """\
judge:
  does_what_was_asked: [{pass: It does so.}, {pass: It claims nothing else.}]"""


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

    Whether a skill is used when it should be is checked where that is seen. `judge`: a model grades the first task.
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
    values = {
        "schema": schema_comment(path, suite.place.root, "task"),
        "id": name,
        "task_name": f"{'Not for' if negative else 'For'} the {suite.kind}, {number}",
        "description": format_scalar(f"A prompt that {what} is {'not ' if negative else ''}for."),
        "prompt": format_scalar(prompt),
        "expected": _expected(negative=negative, triggers=triggers),
        "skills": f"skills: {skills}" if triggers else "",
        "output": format_scalar(_answer(suite, negative=negative, triggers=triggers)),
        "judge": _JUDGE if judge else "",
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
