"""The system text of an agent: the skill or agent under test, and instruction files. Every executor has the same."""

from __future__ import annotations

from waza.model.agent import AttemptWorkspace, Instruction
from waza.model.skill import Target
from waza.model.suite import Config
from waza.model.task import Task


def system_text(config: Config, task: Task, place: AttemptWorkspace) -> str:
    """Return what an agent gets beside its own system message: skill body or routing, instruction files."""
    parts = list[str]()
    if given := given_target(config, task):
        parts.append(f"\n<skill_context>\n{given.instructions}\n</skill_context>\n")
    elif config.trigger_skill_routing and task.target is not None and not task.no_skills:
        parts.append(_routing(task.target.name))
    if place.instructions:
        parts.append(_instructions(place.instructions))
    return "\n".join(parts)


def given_target(config: Config, task: Task) -> Target | None:
    """Return the skill or agent whose text is part of the system text; None where the task has none."""
    return task.target if config.inject_skill_body and not task.no_skills else None


def _routing(skill: str) -> str:
    return (
        "<skill_routing_control>\n"
        f'Decide whether the user\'s request is within the scope of the skill "{skill}". If it is, call the skill '
        f'tool for "{skill}" before anything else. If it is not, answer without that skill.\n'
        "</skill_routing_control>"
    )


def _instructions(files: tuple[Instruction, ...]) -> str:
    lines = ["<instruction_files>", "These files hold further instructions for work in this repository."]
    for file in files:
        text = file.text if file.text.endswith("\n") else f"{file.text}\n"
        lines += [
            "<instruction_file>",
            f"<path>{file.path}</path>",
            f"<content>\n{text}</content>",
            "</instruction_file>",
        ]
    return "\n".join([*lines, "</instruction_files>"])
