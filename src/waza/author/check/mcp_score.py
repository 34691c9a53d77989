"""How well the MCP tools are documented that the description of a skill says it invokes (`INVOKES:`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from waza.author.check.finding import Finding
from waza.author.check.report import GroupIssue, McpIntegration
from waza.author.check.source import Source

_BUILT_IN = frozenset(
    ["bash", "edit", "view", "grep", "glob", "create", "read", "write", "terminal", "search", "fetch", "run"]
)
_INVOKES = re.compile(r"invokes:", re.IGNORECASE)
_ENDS = re.compile(r"do not use for:|use for:|for single operations:|triggers:|\*\*|\n\s*\n", re.IGNORECASE)
_PREREQUISITES = re.compile(
    r"\b(?:prerequisites?|requires?|required|requirements?|must be (?:installed|configured|running))\b",
    re.IGNORECASE,
)
_FALLBACK = re.compile(
    r"\b(?:fall ?back|fallback|if .{0,60}(?:unavailable|not available|fails?|missing)|without (?:the )?mcp|otherwise|alternative(?:ly)?)\b",
    re.IGNORECASE,
)


def invokes_tools(source: Source) -> bool:
    """Return whether the description says that the skill invokes tools."""
    return bool(_INVOKES.search(source.target.description))


def check_mcp(source: Source) -> Iterator[Finding]:
    """Yield what is missing in the documentation of the tools; at most one finding for each of the four points."""
    place = source.place_of_value("description")
    for present, message, remedy in (
        (_has_tools_table(source), "no table lists the MCP tools that it invokes", "add a table with a column 'Tool'"),
        (
            bool(_PREREQUISITES.search(source.body)),
            "it does not say what the MCP tools require",
            "add a section 'Prerequisites' with the servers and how to configure them",
        ),
        (
            bool(_FALLBACK.search(source.body)),
            "it does not say what to do where the MCP tools are missing",
            "add a section 'Fallback'",
        ),
    ):  # fmt: skip
        if not present:
            yield source.finding("mcp-documentation", "warning", message, remedy, place)
    taken = [name for name in _list_tools(source) if name.lower() in _BUILT_IN]
    if taken:
        message = f"invoked tools are called like built-in ones: {', '.join(taken)}"
        remedy = "name them with their server, such as github-search"
        yield source.finding("mcp-tool-collision", "error", message, remedy, place)


def score_mcp(findings: list[Finding]) -> McpIntegration:
    """Return the score, of which each finding costs a point."""
    against = [one for one in findings if one.code in ("mcp-documentation", "mcp-tool-collision")]
    return McpIntegration(
        4 - len(against), 4, tuple(GroupIssue(one.severity, one.message) for one in against)
    )


def _has_tools_table(source: Source) -> bool:
    return any(
        row.header and any("tool" in cell.lower() for cell in row.cells) for row in source.markdown.rows
    )


def _list_tools(source: Source) -> list[str]:
    """Return the names behind `INVOKES:`."""
    text = source.target.description
    mark = _INVOKES.search(text)
    if mark is None:
        return []
    rest = text[mark.end() :]
    end = _ENDS.search(rest)
    parts = re.split(r"[,;]|\band\b", rest[: end.start()] if end else rest)
    return [name for part in parts if (name := part.strip().strip("`'\".").strip())]
