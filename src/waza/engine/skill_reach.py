"""How the skill under test reached the agent: whether it was offered and loaded, and which other skills were offered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from waza.engine.converse import Conversation
from waza.model.capabilities import Capabilities
from waza.model.observation import OfferedSkill, SkillInvocation, SkillsOffered
from waza.model.result import SkillOffer
from waza.model.task import Task


def skill_reach(able: Capabilities, task: Task, conversation: Conversation) -> dict[str, Any]:
    """Return the fields of a trial's result that say how the skill under test, and others, reached the agent.

    `able` is what the executor can do.
    """
    seen = conversation.skills_offered
    offered = seen.skills if seen else ()
    found = [one for one in offered if _is_tested(one, task)]
    others = {one.name for one in offered if not _is_tested(one, task)}
    return {
        "skill_offered": form_of_offer(seen, found, task.skill) if task.skill else None,
        "skill_loaded": _is_loaded(able, task, conversation, found) if task.skill else None,
        "other_skills_offered": sorted(others) if seen and seen.complete else None,
    }


def _is_tested(seen: OfferedSkill | SkillInvocation, task: Task) -> bool:
    """Tell whether a skill that was seen is the one under test; in the arm without skills any of its name is.

    Scripts have paths relative to the suite.
    """
    if not task.skill or seen.name != task.skill:
        return False
    if task.target is None or not seen.path:
        return True
    path = task.home / seen.path
    if not Path(seen.path).is_absolute() and not path.exists():
        return True  # a script may have made the path up
    return _is_same_file(path, task.target.path)


def _is_same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # the agent may have removed it
        return one == other


def form_of_offer(seen: SkillsOffered | None, found: Sequence[OfferedSkill], skill: str) -> SkillOffer:
    """Return how a skill was offered: it is `found` among those of which it was `seen`, or not."""
    if found:
        return "full" if any(one.form == "full" for one in found) else "name"
    known = seen is not None and (seen.complete or skill in seen.absent)
    return "absent" if known else "unknown"


def _is_loaded(
    able: Capabilities, task: Task, conversation: Conversation, found: list[OfferedSkill]
) -> bool | None:
    """Tell whether the agent got the text of the skill; None where nobody could see it."""
    if any(one.loaded for one in found) or any(_is_tested(one, task) for one in conversation.skills):
        return True
    stated = task.mock is not None and task.mock.lists_skills
    return False if able.tool_calls and (stated or not able.scripted) else None
