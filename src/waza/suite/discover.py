"""Skills and agents on disk: reading their definition files, and finding the one that a suite names.

A directory is defined by its `SKILL.md`; only without one do its `*.agent.md` files count.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeAlias, TypeVar

import msgspec

from waza.errors import SuiteError
from waza.kit import frontmatter, yaml
from waza.kit.decode import Decoder, Document, fields_of
from waza.model.base import NonBlank
from waza.model.skill import Target
from waza.problem import Problem, shown

SKILL_FILE = "SKILL.md"
AGENT_SUFFIX = ".agent.md"
_NOT_SEARCHED = {"node_modules", "vendor"}

T = TypeVar("T", bound=msgspec.Struct)
Described: TypeAlias = list[str | dict[str, Any]] | dict[str, Any] | str | None


class SkillKeys(msgspec.Struct, frozen=True, kw_only=True):
    """The frontmatter of a SKILL.md, as far as a run needs it; other keys are left alone."""

    name: str = ""
    description: str = ""


class AgentKeys(msgspec.Struct, frozen=True, kw_only=True, rename={"mcp_servers": "mcp-servers"}):
    """The frontmatter of an agent file; other keys are left alone.

    `tools` is None only where the key is absent. `model` informs and chooses nothing; `mcp-servers`,
    `handoffs` and `agents` are accepted and not used.
    """

    name: str = ""
    description: str = ""
    model: str | list[str] = ""
    tools: list[NonBlank] | None = None
    mcp_servers: Described = None
    handoffs: Described = None
    agents: Described = None


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """A definition file as it was read. `problems` are warnings only.

    `declared_name` is the trimmed `name` of the frontmatter, empty where `target.name` is a fallback.
    """

    target: Target
    declared_name: str
    problems: tuple[Problem, ...] = ()


class RequiredSkills(msgspec.Struct, frozen=True, kw_only=True):
    """Which required skills are `missing`, where they were `searched`, and the names `found` there.

    `problems` are warnings: files that could not be read and so count for nothing.
    """

    missing: tuple[str, ...]
    searched: tuple[Path, ...]
    found: tuple[str, ...]
    problems: tuple[Problem, ...] = ()


def read_target(path: Path) -> Definition:
    """Read a `*.agent.md` file, or else a SKILL.md.

    Broken frontmatter of a skill is a warning, and the skill goes by the name of its directory. Raises
    SuiteError for every mistake in an agent, whose tools must not become unrestricted by accident, for an
    empty skill, and for a file that cannot be read.
    """
    path = absolute(path)
    read = _read_agent if is_agent(path) else _read_skill
    try:
        return read(path, _bytes(path))
    except yaml.YamlError as error:
        raise SuiteError([_problem(path, error)]) from None


def target_at(path: Path) -> Target:
    """Return the skill or agent of a definition file, or of the directory that has one. Raises SuiteError."""
    path = absolute(path)
    files = definitions(path) if _is_directory(path) else [path]
    if len(files) != 1:
        found = ", ".join(file.name for file in files) or "none"
        _refuse(path, f"holds no single SKILL.md or *{AGENT_SUFFIX} (found: {found})", "name the file itself")
    return read_target(files[0]).target


def resolve_target(name: str, roots: Sequence[Path]) -> Target | None:
    """Return the skill or agent of that name (in any case), or None. The first root that has it wins.

    A root is searched directly and one level below. A SKILL.md of another name ends the search of its
    directory, and at the top of a root that of the whole root. Raises SuiteError for a malformed agent
    that is met on the way, and for a skill that cannot be used in a directory of the wanted name.
    """
    if not name.strip():
        return None
    targets = (target for root in roots if (target := _in_root(name, absolute(root))))
    return next(targets, None)


def target_roots(
    cwd: Path, context_dir: Path | None, skill_paths: Iterable[Path], eval_dir: Path
) -> list[Path]:
    """Return where a target is looked for, in order and without repetition.

    `context_dir` is the one given by hand (None: none was); `skill_paths` are the suite's or the task's
    skill directories, relative to `eval_dir`, the suite's directory.
    """
    roots = [cwd, cwd / "agents", cwd / "skills"]
    if context_dir is not None:
        roots.append(cwd / context_dir)
    roots += [eval_dir / path for path in skill_paths]
    roots.append(eval_dir)
    return list(dict.fromkeys(absolute(root) for root in roots))


def required_skills(names: Iterable[str], directories: Sequence[Path]) -> RequiredSkills:
    """Look for skills by their declared names, case-sensitively, directly in each of the directories."""
    found: list[str] = []
    problems: list[Problem] = []
    for directory in directories:
        for file in definitions(directory)[:1]:
            try:
                definition = read_target(file)
            except SuiteError as error:
                problems += map(_as_warning, error.problems)
                continue
            problems += definition.problems
            if definition.declared_name:
                found.append(definition.declared_name)
    missing = [name for name in dict.fromkeys(names) if name not in found]
    return RequiredSkills(
        missing=tuple(missing),
        searched=tuple(directories),
        found=tuple(dict.fromkeys(found)),
        problems=tuple(problems),
    )


def definitions(directory: Path) -> list[Path]:
    """Return the definition files of a directory: its SKILL.md alone, else its agents by name."""
    files = [
        entry
        for entry in _entries(directory)
        if (entry.name == SKILL_FILE or is_agent(entry)) and not _is_directory(entry)
    ]
    return [file for file in files if file.name == SKILL_FILE] or files


def subdirectories(directory: Path) -> list[Path]:
    """Return the directories directly below that may hold definitions, by name."""
    return [entry for entry in _entries(directory) if is_searched(entry.name) and _is_directory(entry)]


def is_searched(name: str) -> bool:
    """Tell whether definitions are looked for in a directory of this name below another one."""
    return not name.startswith(".") and name not in _NOT_SEARCHED


def is_agent(path: Path) -> bool:
    """Tell an agent file by its name."""
    return path.name.endswith(AGENT_SUFFIX)


def fallback_name(path: Path) -> str:
    """Return the name of a definition (absolute path) that declares none."""
    stem = path.name.removesuffix(AGENT_SUFFIX) if is_agent(path) else ""
    return stem or path.parent.name


def absolute(path: Path) -> Path:
    """Return the path from the root of the file system, with `..` worked out and links left as they are."""
    return Path(os.path.abspath(path))  # noqa: PTH100  # resolve() follows links, which changes names


def expanded(path: str) -> Path:
    """Return the path with `~` as the home directory; as it is where there is no such home."""
    return Path(os.path.expanduser(path))  # noqa: PTH111  # Path.expanduser raises for an unknown user


def _read_agent(path: Path, data: bytes) -> Definition:
    parts = frontmatter.split(data)
    keys, problems = _keys(AgentKeys, path, parts.meta)
    problems += _tool_problems(Document(shown(path), parts.meta)) if parts.meta else []
    if problems:
        raise SuiteError(problems)
    tools = None if keys.tools is None else tuple(tool.strip() for tool in keys.tools)
    return _definition(path, keys, parts.body, tools=tools)


def _read_skill(path: Path, data: bytes) -> Definition:
    try:
        parts = frontmatter.split(data)
        body = parts.body
        keys, problems = _keys(SkillKeys, path, parts.meta)
        if parts.meta is None and not body.strip():
            _refuse(path, "the skill is empty", "write its instructions, below a frontmatter with its name")
    except yaml.YamlError as error:
        body = frontmatter.body_of(data)
        keys, problems = SkillKeys(), [_problem(path, error)]
    return _definition(path, keys, body, problems=tuple(map(_as_warning, problems)))


def _definition(
    path: Path,
    keys: SkillKeys | AgentKeys,
    body: str,
    tools: tuple[str, ...] | None = None,
    problems: tuple[Problem, ...] = (),
) -> Definition:
    name = keys.name.strip()
    target = Target(
        kind="agent" if isinstance(keys, AgentKeys) else "skill",
        name=name or fallback_name(path),
        path=path,
        description=keys.description.strip(),
        body=body.lstrip("\r\n"),  # a body follows one blank line wherever it is shown
        tools=tools,
    )
    return Definition(target=target, declared_name=name, problems=problems)


def _keys(wanted: type[T], path: Path, meta: yaml.Node | None) -> tuple[T, list[Problem]]:
    """Read the keys that `wanted` has; after a mistake they are those of an empty frontmatter."""
    if meta is None or (isinstance(meta, yaml.Scalar) and meta.value is None):
        return wanted(), []
    if isinstance(meta, yaml.Mapping):
        known = {field.key for field in fields_of(wanted)}
        entries = {key: node for key, node in meta.entries.items() if key in known}
        meta = yaml.Mapping(entries, meta.keys, meta.line, meta.column)
    decoder = Decoder(Document(shown(path), meta))
    keys = decoder.read(wanted)
    return wanted() if keys is None else keys, decoder.problems


def _tool_problems(document: Document) -> Iterator[Problem]:
    """Yield what types cannot say about `tools`: nothing is not a list, and a number is not a name."""
    meta = document.root
    tools = meta.entries.get("tools") if isinstance(meta, yaml.Mapping) else None
    if isinstance(tools, yaml.Scalar) and tools.value is None:
        yield document.problem(
            tools,
            ("tools",),
            "has no value, which could mean all tools or none",
            "write 'tools: []' to allow none, or drop the key to allow all",
        )
    for number, item in enumerate(tools.items if isinstance(tools, yaml.Sequence) else ()):
        if isinstance(item, yaml.Scalar) and isinstance(item.value, bool | int | float):
            yield document.problem(
                item, ("tools", number), f"{item.text} is not the name of a tool", "put a name in quotes"
            )


def _in_root(name: str, root: Path) -> Target | None:
    files = definitions(root)
    target = _matching(name, files)
    if target or any(not is_agent(file) for file in files):
        return target
    below = (found for folder in subdirectories(root) if (found := _matching(name, definitions(folder))))
    return next(below, None)


def _matching(name: str, files: Iterable[Path]) -> Target | None:
    for file in files:
        try:
            target = read_target(file).target
        except SuiteError:
            if is_agent(file) or _same(file.parent.name, name):
                raise
            continue  # an unusable skill goes by its directory, and that is not the wanted one
        if _same(target.name, name):
            return target
    return None


def _same(one: str, other: str) -> bool:
    """Compare names in any case, and however their accents are encoded (file systems differ there)."""
    return _folded(one) == _folded(other)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name.strip()).casefold()


def _entries(directory: Path) -> list[Path]:
    """Return what stands in a directory, by name; nothing where it cannot be listed."""
    try:
        return sorted(directory.iterdir(), key=lambda entry: entry.name)
    except (OSError, ValueError):
        return []


def _is_directory(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112  # Path.is_dir raises where permission is missing


def _bytes(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():
            _refuse(path, "is not a file")
        return path.read_bytes()
    except FileNotFoundError:
        _refuse(path, "there is no such file")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else ""
        _refuse(path, f"the file cannot be read ({reason or error})")


def _refuse(path: Path, message: str, hint: str = "") -> NoReturn:
    raise SuiteError([Problem(file=shown(path), message=message, hint=hint)])


def _problem(path: Path, error: yaml.YamlError) -> Problem:
    return Problem(file=shown(path), line=error.line, column=error.column, message=error.message)


def _as_warning(problem: Problem) -> Problem:
    return msgspec.structs.replace(problem, severity="warning")
