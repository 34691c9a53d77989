"""The skills that the loop offers: a list of names and descriptions in the system text, and the tool that loads one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from waza.executors.chat_tools import ChatTool, ToolAnswer, failed
from waza.kit import frontmatter, yaml
from waza.model.observation import OfferedSkill, SkillInvocation
from waza.model.task import Task

TOOL = "skill"
_FILE = "SKILL.md"


class _Keys(msgspec.Struct, rename={"disabled": "disable-model-invocation"}):
    """The frontmatter, as far as it is needed."""

    name: str = ""
    description: str = ""
    disabled: bool = False


class ChatSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill that an agent may load."""

    name: str
    """Its name."""
    description: str
    """What it is for; may be empty."""
    path: Path
    """Its `SKILL.md`."""
    body: str
    """Its text."""

    @property
    def offered(self) -> OfferedSkill:
        """How the list offers it."""
        return OfferedSkill(name=self.name, form="full" if self.description else "name", path=str(self.path))

    @property
    def line(self) -> str:
        """Its line in the list."""
        description = " ".join(self.description.split())
        return f"- {self.name}: {description}" if description else f"- {self.name}"

    @property
    def text(self) -> str:
        """What the agent gets when it loads the skill."""
        return f"Base directory for this skill: {self.path.parent}\n\n{self.body}"


def find_skills(task: Task) -> list[ChatSkill]:
    """Return the skills of a task that an agent may load: those of its skill roots, and the one under test.

    A root is a skill itself, or holds some directly below. Of two of one name the first counts. Files that cannot be read are
    no skills.
    """
    if task.no_skills:
        return []
    roots = list(task.skill_paths)
    if task.target is not None and task.target.kind == "skill":
        roots.append(task.target.directory)
    found: dict[str, ChatSkill] = {}
    for path in dict.fromkeys(path for root in roots for path in _files(root)):
        skill = _read(path)
        if skill is not None and skill.name not in task.disabled_skills:
            found.setdefault(skill.name, skill)
    return list(found.values())


def _files(root: Path) -> Iterator[Path]:
    own = root / _FILE
    if own.is_file():
        yield own
        return
    try:
        below = sorted(root.iterdir(), key=lambda entry: entry.name)
    except OSError:
        return
    yield from (path / _FILE for path in below if not path.name.startswith(".") and (path / _FILE).is_file())


def _read(path: Path) -> ChatSkill | None:
    """Return the skill in a file; None for one that is broken, or that only users may invoke."""
    try:
        parts = frontmatter.split(path.read_bytes())
        keys = msgspec.convert(yaml.to_plain(parts.meta) or {} if parts.meta else {}, _Keys)
    except (OSError, yaml.YamlError, msgspec.ValidationError):
        return None
    if keys.disabled:
        return None
    return ChatSkill(
        name=keys.name.strip() or path.parent.name,
        description=keys.description.strip(),
        path=path,
        body=parts.body.lstrip("\r\n"),
    )


def list_skills(skills: Sequence[ChatSkill]) -> str:
    """Return what the system text says of skills."""
    lines = "\n".join(skill.line for skill in skills)
    return (
        "<skills>\n"
        "Skills are instructions for certain tasks. Before you work on a task that one of them is for, load its text with "
        f"the tool {TOOL}, and follow it.\n"
        f"{lines}\n"
        "</skills>"
    )


def skill_tool(skills: Sequence[ChatSkill]) -> ChatTool:
    """Return the tool that loads a skill."""
    known = {skill.name: skill for skill in skills}

    async def load(given: dict[str, object]) -> ToolAnswer:
        name = given.get("skill")
        skill = known.get(name) if isinstance(name, str) else None
        if skill is None:
            return failed(f"there is no skill {name!r}; there are {', '.join(known)}")
        return ToolAnswer(skill.text, skill=SkillInvocation(name=skill.name, path=str(skill.path)))

    parameters = {
        "type": "object",
        "properties": {"skill": {"type": "string", "description": "The name of the skill"}},
        "required": ["skill"],
    }
    return ChatTool(
        name=TOOL,
        identity=TOOL,
        description="Loads the text of a skill.",
        parameters=parameters,
        run=load,
    )
