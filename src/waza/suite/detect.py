"""Looking around: which skills and agents a workspace has, and which suites evaluate them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

import msgspec

from waza.errors import SuiteError
from waza.kit import yaml
from waza.problem import Problem
from waza.suite.definition import SKILL_FILE, absolute, read_definition
from waza.suite.discover import definitions, is_searched, subdirectories, target_at
from waza.suite.read import child, read_document
from waza.suite.skills import located
from waza.suite.target import names_a_file

EVAL_FILE = "eval.yaml"
_PARENTS = 10


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A skill or agent of a workspace; all paths are absolute.

    `directory` holds its `definition`. `owner` is where its source lies: the same directory, except for a
    skill that a build put below `.apm/skills`. `root` is the directory of the workspace. `eval` is its
    suite, filled by `discover_tree` only, whose names are those of directories; `declared` is the one that its
    definition gives.
    """

    name: str
    declared: str = ""
    directory: Path
    definition: Path
    owner: Path
    root: Path
    eval: Path | None = None


def looks_like_path(arg: str) -> bool:
    """Tell a path (a separator, an extension or `.`) from the name of a skill."""
    return any(sign in arg for sign in "/\\.")


def detect(start: Path, skills_dir: str | Path = "skills") -> list[Found]:
    """Return the skills and agents of the workspace around `start`; an empty list: no workspace.

    The first of these that has any: the directory itself, its parents (10 at most), the known places below
    it, its child directories. `skills_dir` is relative to `start` or absolute. A file that cannot be read
    is found all the same, under its fallback name: whoever uses it says what is wrong.
    """
    start = absolute(start)
    return _single(start) or _above(start) or _below(start, start / skills_dir)


def eval_for(found: Found, root: Path, evals_dir: str | Path, eval_file: str) -> Path | None:
    """Return the suite of a skill or agent, or None.

    `evals_dir` is relative to `root`. In every place `eval_file`, the configured name, comes before
    `eval.yaml`. The places of `discover_tree` come last.
    """
    around = [place for base in (found.owner, found.directory) for place in (base / "evals", base)]
    return _first_file([root / evals_dir / found.name, *around, *_beside(found.directory)], eval_file)


class OwnSuite(msgspec.Struct, frozen=True):
    """A suite that stands in a directory itself, and what it tests: the text of its `skill:`, and names of that."""

    path: Path
    skill: str = ""
    names: frozenset[str] = frozenset()


def own_suite(directory: Path, eval_file: str) -> OwnSuite | None:
    """Return the suite of a directory; one that cannot be read tests nothing, and whoever runs it says why."""
    path = _first_file([directory], eval_file)
    if path is None:
        return None
    document = read_document(path, "suite")
    node = None if isinstance(document, Problem) else child(document.root, "skill")
    skill = node.text.strip() if isinstance(node, yaml.Scalar) and node.value is not None else ""
    return OwnSuite(path, skill, frozenset({skill, *_defined(directory, skill)}) if skill else frozenset())


def _defined(directory: Path, skill: str) -> Iterator[str]:
    """Yield the name of the skill or agent that a suite names by its path."""
    if names_a_file(skill):
        with suppress(SuiteError):
            yield target_at(located(directory, skill)).name


def discover_tree(root: Path, eval_file: str = EVAL_FILE, evals_dir: str | Path = "evals") -> list[Found]:
    """Return every skill in a tree, with its suite. The name is that of the directory; the first one keeps it.

    Of hidden directories only the root's own `.github/skills` is looked into, and first. `evals_dir` is relative to
    the root.
    """
    root = Path(os.path.realpath(root))
    places = chain(_walk(root / ".github" / "skills"), _walk(root))
    skills = (file for place in places for file in definitions(place) if file.name == SKILL_FILE)
    return _first_of_each(
        msgspec.structs.replace(
            _found(file, root),
            name=file.parent.name,
            eval=_first_file([*_beside(file.parent), root / evals_dir / file.parent.name], eval_file),
        )
        for file in skills
    )


def _single(directory: Path) -> list[Found]:
    return [_found(file, directory) for file in definitions(directory)[:1]]


def _above(start: Path) -> list[Found]:
    for parent in start.parents[:_PARENTS]:
        found = _single(parent) or _first_of_each(_built(parent))
        if found:
            return found
    return []


def _below(start: Path, skills: Path) -> list[Found]:
    trees = chain(_walk(skills, into_skills=False), _walk(start / ".github" / "skills", into_skills=False))
    builds = chain(_built_from_sources(start, skills), _built(start))
    found = [*_all_in(trees, start), *builds]
    # Agents have a directory of their own; without any skill it is just one of the children.
    more = _walk(start / "agents", into_skills=False) if found else subdirectories(start)
    return _first_of_each([*found, *_all_in(more, start)])


def _built(source: Path) -> list[Found]:
    """Return the skills that a build put below `.apm/skills` of their source directory."""
    files = (file for place in subdirectories(source / ".apm" / "skills") for file in definitions(place))
    return [_found(file, source, source) for file in files]


def _built_from_sources(start: Path, skills: Path) -> Iterator[Found]:
    """Yield `<skills>/<name>/.apm/skills/<name>/SKILL.md` for every skill source directory."""
    for source in subdirectories(skills):
        for file in definitions(source / ".apm" / "skills" / source.name):
            if file.name == SKILL_FILE:
                yield _found(file, start, source)


def _all_in(directories: Iterable[Path], root: Path) -> Iterator[Found]:
    return (_found(file, root) for directory in directories for file in definitions(directory))


def _found(definition: Path, root: Path, owner: Path | None = None) -> Found:
    directory, name = definition.parent, read_definition(definition).target.name
    return Found(
        name=name,
        declared=name,
        directory=directory,
        definition=definition,
        owner=owner or directory,
        root=root,
    )


def _first_of_each(found: Iterable[Found]) -> list[Found]:
    named: dict[str, Found] = {}
    for one in found:
        named.setdefault(one.name, one)
    return list(named.values())


def _walk(top: Path, *, into_skills: bool = True) -> Iterator[Path]:
    """Yield a directory and those below it, by name. Links to directories are not followed."""
    for base, folders, files in os.walk(top):
        ends = SKILL_FILE in files and not into_skills
        folders[:] = [] if ends else sorted(filter(is_searched, folders))
        yield Path(base)


def _beside(skill: Path) -> list[Path]:
    """Return where the suite of a skill may stand, seen from its directory."""
    return [skill / "tests", skill / "evals", skill, skill.parent.parent / "evals" / skill.name]


def _first_file(places: Iterable[Path], eval_file: str) -> Path | None:
    candidates = (place / name for place in places for name in dict.fromkeys((eval_file, EVAL_FILE)))
    return next((file for file in candidates if _is_file(file)), None)


def _is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113  # Path.is_file raises for names that are too long
