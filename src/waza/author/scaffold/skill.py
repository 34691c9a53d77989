"""`waza new skill`: a skill, with a suite that runs on the mock."""

from __future__ import annotations

from pathlib import Path

from waza.author.scaffold.names import check_directory_name
from waza.author.scaffold.place import NewExecutor, Place
from waza.author.scaffold.project import SOURCE, WORKFLOW, workflow
from waza.author.scaffold.skill_text import USUAL_ANTI_TRIGGERS, SkillText, description, folded, prompts_of
from waza.author.scaffold.suite import NewSuite
from waza.author.scaffold.target import UNRELATED, TargetPlan, plan_target
from waza.author.scaffold.template import fill_file
from waza.registry.scalar import format_scalar
from waza.suite.definition import SKILL_FILE


def skill_file(place: Place, name: str) -> Path:
    """Return the path of the definition of a new skill."""
    return place.skills / name / SKILL_FILE


def plan_skill(
    name: str, text: SkillText, place: Place, executor: NewExecutor, *, judge: bool = False
) -> TargetPlan:
    """Return the files of a skill: of a new one, or those that one lacks. `name` is that of its directory.

    `judge`: its first task is graded by a model as well. Its suite is below itself where the project has no directory
    of suites.
    """
    definition, words = skill_file(place, name), text.words
    directory = (
        place.evals / check_directory_name(text.name) if place.has_skills else definition.parent / "evals"
    )
    own = text.anti_triggers != USUAL_ANTI_TRIGGERS
    positive = text.prompts
    negative = [*(prompts_of(text.anti_triggers) if own else ()), *UNRELATED]
    suite = NewSuite(
        place=place,
        executor=executor,
        file=directory / place.eval_file,
        kind="skill",
        target=text.name,
        target_directory=definition.parent,
        description=f"Whether the skill {text.name} does what it is for, and nothing else",
        positive=positive,
        negative=[one for one in negative if one not in positive],
    )
    values = {
        "name": format_scalar(text.name),
        "title": text.title,
        "description": folded(description(text)),
    }
    tasks = {
        "target/basic-usage": f"Use {words} on sample.py. Name the functions that you find there, and what is left open.",
        "target/edge-case": f"Use {words} on empty.txt.",
        "target/should-not-trigger": UNRELATED[0],
    }
    more = {} if place.has_skills else _of_its_own(definition.parent, text, place)
    content = fill_file("skill/SKILL.md", values)
    return plan_target(definition, content, suite, tasks, judge=judge, more=more)


def _of_its_own(directory: Path, text: SkillText, place: Place) -> dict[Path, str]:
    """Return the files that a skill has besides where it may become a repository."""
    readme = {"title": text.title, "eval_file": place.eval_file}
    return {
        directory / "README.md": fill_file("standalone/README.md", readme),
        directory / ".gitignore": fill_file("project/gitignore", {"results": place.keys.paths.results}),
        directory / WORKFLOW: workflow(SOURCE),
    }
