"""Skills and custom agents: what may be put in front of an agent, and which tools it may use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

# Names of one and the same tool. Qualified names (`mcp:`, `custom:`) have no aliases.
ALIASES = (
    ("read", "readfile", "fileread", "view"),
    ("write", "writefile", "filewrite", "edit"),
    ("bash", "runcommand"),
    ("fetch", "web_fetch"),
)
_OTHER = re.compile(r"[^A-Za-z0-9_-]")  # what is replaced in the names of servers
_SERVED = re.compile(r"mcp__(.+?)__(.+)")  # the tools of MCP servers, as some agents have them
_CANONICAL = {name: group[0] for group in ALIASES for name in group}

PolicyMode = Literal["unrestricted", "deny_all", "allow_list"]


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The skill or custom agent under test, as found on disk.

    `tools` of an agent: None where the key is absent (no restriction), empty (no tool at all), or a list.
    `body` is the Markdown without its frontmatter. `model_invocable` is false where the frontmatter says
    `disable-model-invocation: true`.
    """

    kind: Literal["skill", "agent"]
    name: str
    path: Path
    description: str = ""
    body: str = ""
    tools: tuple[str, ...] | None = None
    model_invocable: bool = True

    @property
    def why_it_never_fires(self) -> str:
        """Why an agent can never invoke it of its own accord; an empty text where it can."""
        if self.kind == "agent":
            return "it is a custom agent, and only skills are offered to be invoked"
        return "" if self.model_invocable else "its frontmatter says 'disable-model-invocation: true'"

    @property
    def directory(self) -> Path:
        """The directory that relative links of the body start from."""
        return self.path.parent

    @property
    def instructions(self) -> str:
        """The text that is injected: the base directory, a blank line, the body."""
        return f"Base directory for this skill: {self.directory}\n\n{self.body}"

    @property
    def policy(self) -> PolicyMode | None:
        """How an agent's tools are restricted; None for a skill, which restricts nothing."""
        if self.kind == "skill":
            return None
        if self.tools is None:
            return "unrestricted"
        return "allow_list" if self.tools else "deny_all"


def server_prefix(server: str) -> str:
    """Return the prefix of the names of an MCP server's tools where agents call them."""
    return f"{_OTHER.sub('-', server)}-"


def canonical_tool(name: str) -> str:
    """Return the name under which aliases of a tool are equal.

    Qualified names keep their qualifier and have no aliases; `builtin:` is dropped.
    """
    lowered = name.strip().lower()
    if lowered.startswith(("mcp:", "custom:")):
        return lowered
    lowered = lowered.removeprefix("builtin:")
    return _CANONICAL.get(lowered, lowered)


def _plain(name: str) -> str:
    lowered = name.strip().lower()
    served = _SERVED.fullmatch(lowered)
    return f"{served[1]}-{served[2]}" if served else lowered


def allows(declared: str, observed: str) -> bool:
    """Tell whether a declared tool name matches an observed one.

    Names match exactly but for case and the fixed aliases. An observed name without a qualifier, as
    transcripts have it, also matches the literal part of a declared `mcp:` or `custom:` name. `mcp__SERVER__TOOL`, as
    some agents have it, is `SERVER-TOOL`.
    """
    entry, seen = _plain(declared), _plain(observed)
    if ":" not in seen and entry.startswith(("mcp:", "custom:")):
        return entry.split(":", 1)[1] == seen
    return canonical_tool(entry) == canonical_tool(seen)


def allowed_by(declared: Iterable[str], observed: str) -> bool:
    """Tell whether any of the declared names matches the observed one."""
    return any(allows(entry, observed) for entry in declared)
