"""How the skill under test reached the agent: whether it was offered and loaded, and which other skills were offered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from waza.engine.converse import Conversation
from waza.model.loaded import Suite
from waza.model.observation import OfferedSkill, SkillInvocation, SkillsOffered
from waza.model.result import SkillOffer
from waza.model.skill import Target
from waza.model.task import Task


def skill_reach(suite: Suite, task: Task, conversation: Conversation) -> dict[str, Any]:
    """Return the fields of a trial's result that say how the skill under test, and others, reached the agent."""
    skill, seen = suite.file.skill, conversation.skills_offered
    found = [one for one in (seen.skills if seen else ()) if skill and _is_tested(one, skill, task.target)]
    others = [one.name for one in (seen.skills if seen else ()) if one not in found]
    return {
        "skill_offered": _offer(seen, found) if skill else None,
        "skill_loaded": _is_loaded(suite, task, conversation, found) if skill else None,
        "other_skills_offered": sorted(set(others)) if seen and seen.complete else None,
    }


def _is_tested(seen: OfferedSkill | SkillInvocation, skill: str, target: Target | None) -> bool:
    """Tell whether a skill that was seen is the one under test, and not another of its name."""
    if seen.name != skill:
        return False
    return target is None or not seen.path or _is_same_file(Path(seen.path), target.path)


def _is_same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # the agent may have removed it
        return one == other


def _offer(seen: SkillsOffered | None, found: list[OfferedSkill]) -> SkillOffer:
    if found:
        return "full" if any(one.form == "full" for one in found) else "name"
    return "absent" if seen is not None and seen.complete else "unknown"


def _is_loaded(
    suite: Suite, task: Task, conversation: Conversation, found: list[OfferedSkill]
) -> bool | None:
    """Tell whether the agent got the text of the skill; None where nobody could see it."""
    invoked = any(_is_tested(one, suite.file.skill, task.target) for one in conversation.skills)
    if invoked or any(one.loaded for one in found):
        return True
    able = suite.capabilities
    stated = task.mock is not None and task.mock.lists_skills
    return False if able.tool_calls and (stated or not able.scripted) else None
