"""Which skills the agent was offered, by what the runtime tells: the skills it loaded, and the system message it sent."""

from __future__ import annotations

import html
import re
from typing import Any

from waza.model.observation import OfferedSkill, SkillsOffered
from waza.model.skill import Target

LOADED, SYSTEM = "session.skills_loaded", "system.message"
"""The events that say which skills a session has, and what the model reads before its first answer."""
_LISTING = re.compile(r"<available_skills>\n(.*?)</available_skills>", re.DOTALL)
_ENTRY = re.compile(r"<skill>\s*<name>([^<]*)</name>(\s*<description>)?.*?</skill>\s*", re.DOTALL)
# What stands in a full listing for the skills whose descriptions have no room in it.
_REST = re.compile(r"[^:]*\(invoke by name\): (.*?)(?:\.\.\. and \d+ more)?", re.DOTALL)


class OfferWatch:
    """Watches the events of a session for the skills that the agent is offered."""

    def __init__(self) -> None:
        self._paths: dict[str, str] | None = None  # of the skills that are switched on, by name
        self._system: str | None = None

    def take(self, kind: str, event: Any) -> None:
        """Take an event of the SDK that is of the agent itself, not of one that it instructs."""
        if kind == LOADED:
            self._paths = {one.name: one.path or "" for one in event.data.skills if one.enabled}
        elif kind == SYSTEM and self._system is None:
            self._system = event.data.content

    def offered(self, given: Target | None) -> SkillsOffered | None:
        """Return the skills that the agent was offered; None where the runtime does not tell.

        `given` is the skill or agent whose text was to be in the system message, None without one.
        """
        if self._paths is None or self._system is None:
            return None
        text = given.instructions if given else ""
        listed = read_listing(self._system.replace(text, "") if text else self._system)
        skills = [
            OfferedSkill(name=one.name, form=one.form, path=self._paths[one.name])
            for one in listed.skills
            if one.name in self._paths
        ]
        complete = listed.complete
        if given is not None and text in self._system:
            skills.append(OfferedSkill(name=given.name, path=str(given.path), loaded=True))
        elif given is not None:
            complete = False
        return SkillsOffered(skills=tuple(skills), complete=complete)


def read_listing(system: str) -> SkillsOffered:
    """Return the skills that a system message lists, without their paths. One in another form than known is not complete.

    Of several listings, as where instructions in the workspace imitate one, nobody knows which is that of the runtime.
    """
    listings = list(_LISTING.finditer(system))
    if len(listings) != 1:
        return SkillsOffered(complete="<available_skills>" not in system)
    [found] = listings
    entries = list(_ENTRY.finditer(found[1]))
    skills = [OfferedSkill(name=html.unescape(one[1]), form="full" if one[2] else "name") for one in entries]
    rest = found[1][entries[-1].end() :].strip() if entries else found[1].strip()
    names = _REST.fullmatch(rest)
    if names is not None:
        skills += [
            OfferedSkill(name=html.unescape(name.strip()), form="name") for name in names[1].split(", ")
        ]
    return SkillsOffered(skills=tuple(skills), complete=not rest or names is not None)
