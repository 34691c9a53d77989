"""The format of custom agents: their name, description, tools and keys."""

from __future__ import annotations

from collections.abc import Iterator

from waza.author.check.finding import Finding
from waza.author.check.report import AgentTools
from waza.author.check.source import Source
from waza.kit import yaml
from waza.kit.names import nearest_name
from waza.model.skill import ALIASES, canonical_tool
from waza.suite.definition import AGENT_SUFFIX, SKILL_FILE

_NEAR = 0.8  # names of tools are short, so that only very similar ones are probably meant
# Tools that runtimes of custom agents have, besides those with other names; a misspelt one would grant nothing.
_BUILT_IN = (
    *("create", "glob", "grep", "search", "codeSearch", "fileSearch", "textSearch", "listDirectory", "task"),
    *(
        "skill",
        "web_search",
        "fileDelete",
        "runTests",
        "todo",
        "agent",
        "execute",
        "web",
        "problems",
        "usages",
    ),
    *("changes", "fetch", "githubRepo", "openSimpleBrowser", "runTasks", "runCommands", "editFiles"),
)
KNOWN_TOOLS = tuple(dict.fromkeys([*(name for group in ALIASES for name in group), *_BUILT_IN]))
_CASED = {"readfile": "readFile", "fileread": "fileRead", "writefile": "writeFile", "filewrite": "fileWrite"}


def check_agent(source: Source) -> Iterator[Finding]:
    """Yield what is wrong with the frontmatter of an agent, besides the mistakes of its definition."""
    if not source.has_frontmatter:
        yield source.finding(
            "missing-frontmatter",
            "error",
            "the file has no frontmatter, so that nobody knows the agent's name, purpose and tools",
            "begin it with a line '---', the keys 'name:' and 'description:', and another line '---'",
        )
    stem = source.path.name.removesuffix(AGENT_SUFFIX)
    name = source.definition.declared_name
    if source.meta and not name:
        message = f"the frontmatter has no name; the agent is called {source.target.name!r} after its file"
        yield source.finding("name-missing", "warning", message, f"write 'name: {stem}'", source.place())
    elif source.meta and name != stem:
        message = f"the name is {name!r}, and the file {source.path.name!r}"
        remedy = f"rename the file to {name}{AGENT_SUFFIX}, or write 'name: {stem}'"
        yield source.finding("name-mismatch", "error", message, remedy, source.place_of_value("name"))
    if (source.path.parent / SKILL_FILE).is_file():
        message = (
            f"{SKILL_FILE} is in the same directory, so that waza evaluates the skill and ignores the agent"
        )
        yield source.finding("shadowed-agent", "warning", message, "move one of them into another directory")
    yield from _check_tools(source)


def describe_tools(source: Source) -> AgentTools:
    """Return which tools the agent may use; a list with a mistake says neither all nor none."""
    if not source.definition.is_fit:
        return AgentTools("invalid", ())
    return AgentTools(source.target.policy or "unrestricted", source.target.tools)


def _check_tools(source: Source) -> Iterator[Finding]:
    tools = source.meta.entries.get("tools") if source.meta else None
    if not isinstance(tools, yaml.Sequence):
        return
    seen: dict[str, str] = {}
    for item in tools.items:
        if not isinstance(item, yaml.Scalar) or not isinstance(item.value, str):
            continue  # a mistake of the definition
        name, place = item.text.strip(), (item.line, item.column)
        key = canonical_tool(name)
        if key in seen:
            message = f"the tool {name!r} is listed already, as {seen[key]!r}"
            yield source.finding("unknown-tool", "note", message, "remove one of the two", place)
            continue
        seen[key] = name
        if problem := _explain_tool(name):
            yield source.finding("unknown-tool", "warning", *problem, place)


def _explain_tool(name: str) -> tuple[str, str] | None:
    """Return why the name of a tool grants nothing, and what to do; None where it may be a tool."""
    if "*" in name:
        return f"{name!r} grants no tool, since names are compared as they are", "list each tool by its name"
    kind, colon, rest = name.partition(":")
    if colon and kind.lower() in ("mcp", "custom", "builtin"):
        if not rest.strip() or (kind.lower() == "mcp" and "-" not in rest):
            return f"{name!r} names no tool of a server", "write mcp:<server>-<tool>"
        return None
    if colon or "/" in name or "-" in name:
        return None  # a tool of an extension or a server
    if name.lower() in (tool.lower() for tool in KNOWN_TOOLS):
        return None
    meant = nearest_name(name, KNOWN_TOOLS, _NEAR)
    if not meant:
        return None  # other programs have tools of their own
    return f"no known tool has the name {name!r}", f"did you mean {_CASED.get(meant, meant)!r}?"
