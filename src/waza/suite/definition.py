"""Definition files of skills and custom agents: a `SKILL.md` or a `*.agent.md`, read and checked.

A definition is always read to its end, with its mistakes beside it. Whether they matter depends on its part in
a suite: those of the skill or agent under test are errors, those of its neighbours are warnings.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec

from waza.errors import SuiteError
from waza.kit import frontmatter, yaml
from waza.kit.decode import Decoder, Document, fields_of
from waza.kit.names import nearest_name
from waza.model.base import NonBlank
from waza.model.skill import Target
from waza.problem import Problem, display_path

SKILL_FILE = "SKILL.md"
AGENT_SUFFIX = ".agent.md"

T = TypeVar("T", bound=msgspec.Struct)
Described: TypeAlias = list[str | dict[str, Any]] | dict[str, Any] | str | None

_RENAMED = {"mcp_servers": "mcp-servers", "disable_model_invocation": "disable-model-invocation"}

# Keys of agents that other programs read.
_OF_OTHERS = frozenset(
    {
        *("argument-hint", "target", "infer", "user-invocable", "user-invokable", "color", "hooks"),
        *("skills", "metadata", "license", "version", "author", "tags", "applyTo", "mode"),
    }
)


class SkillKeys(msgspec.Struct, frozen=True, kw_only=True, rename=_RENAMED):
    """The frontmatter of a SKILL.md, as far as a run needs it; other keys are left alone."""

    name: str = ""
    description: str = ""
    disable_model_invocation: bool = False


class AgentKeys(msgspec.Struct, frozen=True, kw_only=True, rename=_RENAMED):
    """The frontmatter of an agent file.

    `tools` of None means that the key is absent. `model` informs and chooses nothing; `mcp-servers`,
    `handoffs` and `agents` are accepted and not used.
    """

    name: str = ""
    description: str = ""
    model: str | list[str] = ""
    tools: list[NonBlank] | None = None
    mcp_servers: Described = None
    handoffs: Described = None
    agents: Described = None
    disable_model_invocation: bool = False


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """A definition file as it was read.

    `declared_name` is the trimmed `name` of the frontmatter, empty where `target.name` is a fallback. With an
    error among the `problems` the target is not fit for use; what could be read of it is there all the same.
    """

    target: Target
    declared_name: str = ""
    problems: tuple[Problem, ...] = ()

    @property
    def is_fit(self) -> bool:
        """Whether it can be the target of a suite."""
        return all(problem.severity == "warning" for problem in self.problems)

    @property
    def warnings(self) -> Iterator[Problem]:
        """Its mistakes, as they are reported of a neighbour of the target."""
        return (
            msgspec.structs.replace(problem, severity="warning")
            for problem in self.problems
            if problem.severity == "error"
        )


def read_definition(path: Path) -> Definition:
    """Read a `*.agent.md` file, or else a SKILL.md. Never raises: see the problems of the Definition."""
    definition = _read(make_absolute(path))
    problems = tuple(map(_as_of_definition, definition.problems))
    return msgspec.structs.replace(definition, problems=problems)


def _as_of_definition(problem: Problem) -> Problem:
    """Return a problem with the code that says what kind of file has it."""
    absent = problem.code == "skill-not-found"
    return problem if absent else msgspec.structs.replace(problem, code="skill-definition")


def _read(path: Path) -> Definition:
    data = _read_bytes(path)
    if isinstance(data, Problem):
        return _make_unusable(path, data)
    try:
        parts = frontmatter.split(data)
    except yaml.YamlError as error:
        return _make_unusable(path, error.in_file(display_path(path)))
    if is_agent(path):
        return _read_agent(path, parts)
    return _read_skill(path, parts)


def require_usable(definition: Definition) -> Definition:
    """Return a definition that can be the target of a suite. Raises SuiteError with the mistakes of one that cannot."""
    if not definition.is_fit:
        raise SuiteError(definition.problems)
    return definition


def is_agent(path: Path) -> bool:
    """Return whether a file is that of an agent, by its name."""
    return path.name.endswith(AGENT_SUFFIX)


def is_definition(path: Path) -> bool:
    """Return by its name whether a file defines a skill or an agent."""
    return path.name == SKILL_FILE or is_agent(path)


def make_absolute(path: Path) -> Path:
    """Return the path from the root of the file system, with `..` worked out and links left as they are."""
    return Path(os.path.abspath(path))  # noqa: PTH100  # resolve() follows links, which changes names


def expand_home(path: str) -> Path:
    """Return the path with `~` as the home directory; as it is where there is no such home."""
    return Path(os.path.expanduser(path))  # noqa: PTH111  # Path.expanduser raises for an unknown user


def _read_agent(path: Path, parts: frontmatter.Frontmatter) -> Definition:
    keys, problems = _read_keys(AgentKeys, path, parts.meta)
    if isinstance(parts.meta, yaml.Mapping):
        document = Document(display_path(path), parts.meta)
        problems += [*_check_tools(document, parts.meta), *_check_unknown_keys(document, parts.meta)]
    tools = None if keys.tools is None else tuple(tool.strip() for tool in keys.tools)
    return _build_definition(path, keys, parts, problems, tools)


def _read_skill(path: Path, parts: frontmatter.Frontmatter) -> Definition:
    if parts.meta is None and not parts.body.strip():
        hint = "write its instructions, below a frontmatter with its name and description"
        return _make_unusable(
            path,
            Problem(
                code="skill-definition", file=display_path(path), message="the skill is empty", hint=hint
            ),
        )
    keys, problems = _read_keys(SkillKeys, path, parts.meta)
    return _build_definition(path, keys, parts, problems)


def _build_definition(
    path: Path,
    keys: SkillKeys | AgentKeys,
    parts: frontmatter.Frontmatter,
    problems: list[Problem],
    tools: tuple[str, ...] | None = None,
) -> Definition:
    name, description = keys.name.strip(), keys.description.strip()
    if not description and not any(problem.path in ("", "description") for problem in problems):
        problems = [*problems, _without_description(path, parts.meta)]
    target = Target(
        kind="agent" if isinstance(keys, AgentKeys) else "skill",
        name=name or _choose_fallback_name(path),
        path=path,
        description=description,
        body=parts.body.lstrip("\r\n"),  # a body follows one blank line wherever it is shown
        tools=tools,
        model_invocable=not keys.disable_model_invocation,
    )
    return Definition(target=target, declared_name=name, problems=tuple(problems))


def _make_unusable(path: Path, problem: Problem) -> Definition:
    kind: Literal["agent", "skill"] = "agent" if is_agent(path) else "skill"
    target = Target(kind=kind, name=_choose_fallback_name(path), path=path)
    return Definition(target=target, problems=(problem,))


def _choose_fallback_name(path: Path) -> str:
    """Return the name of a definition (absolute path) that declares none."""
    stem = path.name.removesuffix(AGENT_SUFFIX) if is_agent(path) else ""
    return stem or path.parent.name


def _read_keys(wanted: type[T], path: Path, meta: yaml.Node | None) -> tuple[T, list[Problem]]:
    """Read the keys that `wanted` has; one with a mistake has its default."""
    if meta is None or (isinstance(meta, yaml.Scalar) and meta.value is None):
        return wanted(), []
    if isinstance(meta, yaml.Mapping):
        known = {field.key for field in fields_of(wanted)}
        entries = {key: node for key, node in meta.entries.items() if key in known}
        meta = yaml.Mapping(entries, meta.keys, meta.line, meta.column)
    decoder = Decoder(Document(display_path(path), meta))
    keys, _ = decoder.read_partial(wanted)
    return wanted() if keys is None else keys, decoder.problems


def _without_description(path: Path, meta: yaml.Node | None) -> Problem:
    message = "has no description, by which an agent knows when to use it"
    hint = "write 'description:' in its frontmatter"
    if isinstance(meta, yaml.Mapping):
        meant = nearest_name("description", meta.entries.keys() - {"description"})
        hint = f"{meant!r} is probably meant to be 'description'" if meant else hint
        return Document(display_path(path), meta).problem(
            "skill-definition", meta, ("description",), message, hint
        )
    return Problem(
        code="skill-definition", file=display_path(path), line=1, column=1, message=message, hint=hint
    )


def _check_tools(document: Document, meta: yaml.Mapping) -> Iterator[Problem]:
    """Yield what types cannot say about `tools`: nothing is not a list, and a number is not a name."""
    tools = meta.entries.get("tools")
    if isinstance(tools, yaml.Scalar) and tools.value is None:
        yield document.problem(
            "skill-definition",
            tools,
            ("tools",),
            "has no value, which could mean all tools or none",
            "write 'tools: []' to allow none, or drop the key to allow all",
        )
    for number, item in enumerate(tools.items if isinstance(tools, yaml.Sequence) else ()):
        if isinstance(item, yaml.Scalar) and isinstance(item.value, bool | int | float):
            yield document.problem(
                "wrong-type",
                item,
                ("tools", number),
                f"{item.text} is not the name of a tool",
                "put a name in quotes",
            )


def _check_unknown_keys(document: Document, meta: yaml.Mapping) -> Iterator[Problem]:
    """Yield the keys of an agent that nobody knows. One that may be meant to limit its tools is an error."""
    own = [field.key for field in fields_of(AgentKeys)]
    for key in (key for key in meta.entries if key not in (*own, *_OF_OTHERS)):
        meant = nearest_name(key, (*own, *_OF_OTHERS))
        if meant == "tools" or "tool" in key.lower():
            hint = "an agent's tools are listed under 'tools'; without it the agent may use them all"
            yield document.problem("unknown-key", meta.keys[key], (key,), f"unknown key {key!r}", hint)
        else:
            hint = f"did you mean {meant!r}?" if meant else ""
            message = f"unknown key {key!r}, ignored"
            yield document.problem("unknown-key", meta.keys[key], (key,), message, hint, "warning")


def _read_bytes(path: Path) -> bytes | Problem:
    try:
        if path.exists() and not path.is_file():
            return Problem(code="unreadable-file", file=display_path(path), message="is not a file")
        return path.read_bytes()
    except FileNotFoundError:
        return Problem(code="skill-not-found", file=display_path(path), message="there is no such file")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else ""
        return Problem(
            code="unreadable-file",
            file=display_path(path),
            message=f"the file cannot be read ({reason or error})",
        )
