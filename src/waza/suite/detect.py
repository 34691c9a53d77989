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
from waza.suite.definition import SKILL_FILE, make_absolute, read_definition
from waza.suite.discover import is_searched, list_definitions, list_subdirectories, read_target
from waza.suite.read import child, read_document
from waza.suite.skills import resolve_path
from waza.suite.target import is_path

EVAL_FILE = "eval.yaml"
_PARENTS = 10


class DetectedSkill(msgspec.Struct, frozen=True, kw_only=True):
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

    @property
    def is_skill(self) -> bool:
        """Whether it is a skill and not a custom agent, by the name of its definition."""
        return self.definition.name == SKILL_FILE


def looks_like_path(arg: str) -> bool:
    """Return whether a text is a path (a separator, an extension or `.`), and not the name of a skill."""
    return any(sign in arg for sign in "/\\.")


def detect_skills(
    start: Path, skills_dir: str | Path = "skills", *, every: bool = False
) -> list[DetectedSkill]:
    """Return the skills and agents of the workspace around `start`; an empty list: no workspace.

    The first of these that has any: the directory itself, its parents (10 at most), the known places below
    it, its child directories. `skills_dir` is relative to `start` or absolute. A file that cannot be read
    is found all the same, under its fallback name: its mistakes are reported when it is used. The first of a name
    keeps it; `every`: the others are returned as well, but for builds.
    """
    start = make_absolute(start)
    around = _detect_definition(start) or _detect_above(start)
    return around or _detect_below(start, start / skills_dir, every=every)


def describe_definition(definition: Path, root: Path, owner: Path | None = None) -> DetectedSkill:
    """Return a skill or agent by its definition file (absolute path), in the workspace `root`."""
    directory, name = definition.parent, read_definition(definition).target.name
    return DetectedSkill(
        name=name,
        declared=name,
        directory=directory,
        definition=definition,
        owner=owner or directory,
        root=root,
    )


def find_suite(found: DetectedSkill, root: Path, evals_dir: str | Path, eval_file: str) -> Path | None:
    """Return the suite of a skill or agent, or None.

    `evals_dir` is relative to `root`. In every place `eval_file`, the configured name, comes before
    `eval.yaml`. The places of `discover_tree` come last.
    """
    around = [place for base in (found.owner, found.directory) for place in (base / "evals", base)]
    return _find_first_file(
        [root / evals_dir / found.name, *around, *_list_suite_directories(found.directory)], eval_file
    )


def detect_below(top: Path) -> list[DetectedSkill]:
    """Return every skill and agent in a tree; hidden directories are not looked into, and no skill is below another."""
    top = make_absolute(top)
    return list(_describe_all(_walk(top, into_skills=False), top))


def detect_in(root: Path, skills_dir: str | Path, more: Iterable[Path] = ()) -> list[DetectedSkill]:
    """Return all skills and agents of a workspace and of further directories, also those that share a name.

    Looked into are the root itself, its skills, its agents, both in `.github`, and all of the further directories.
    """
    hidden = root / ".github"
    trees = (root / skills_dir, hidden / "skills", root / "agents", hidden / "agents", *more)
    directories = chain([root], *(_walk(tree, into_skills=False) for tree in trees))
    return list(_describe_all(dict.fromkeys(directories), root))


def list_suites(root: Path, trees: Iterable[Path], skills: Iterable[Path], eval_file: str) -> list[Path]:
    """Return the suites of a workspace: of the root, of whole trees, and of the directories of skills.

    In the top directory of a tree any YAML file that has `tasks` is one as well.
    """
    names = dict.fromkeys((eval_file, EVAL_FILE, "eval.yml"))
    places = [root, *(place for skill in skills for place in (skill, skill / "evals", skill / "tests"))]
    below = [place for tree in trees for place in _walk(tree)]
    found = [file for place in (*places, *below) if (file := _first(place, names))]
    flat = [
        file
        for tree in trees
        for file in sorted([*tree.glob("*.yaml"), *tree.glob("*.yml")])
        if file.name not in names and _has_tasks(file)
    ]
    return sorted(dict.fromkeys([*found, *flat]))


def find_suites_below(top: Path, eval_file: str) -> list[Path]:
    """Return the suites in a tree, one a directory; hidden directories are not looked into."""
    found = (_find_first_file([directory], eval_file) for directory in _walk(top))
    return [path for path in found if path is not None]


def _first(place: Path, names: Iterable[str]) -> Path | None:
    return next((place / name for name in names if _is_file(place / name)), None)


def _has_tasks(file: Path) -> bool:
    document = read_document(file, "suite")
    root = None if isinstance(document, Problem) else document.root
    return isinstance(root, yaml.Mapping) and any(
        isinstance(root.entries.get(key), kind)
        for key, kind in (("tasks", yaml.Sequence), ("tasks_from", yaml.Scalar))
    )


class TestedSkill(msgspec.Struct, frozen=True):
    """What a suite tests: the name of its skill, empty where it has none, and whether it is a scenario.

    `line` and `column` are those of `skill:`, 0 where it has none.
    """

    name: str
    is_scenario: bool
    line: int = 0
    column: int = 0


def read_tested_skill(path: Path) -> TestedSkill:
    """Return what a suite file tests, by its `skill:` (of a path: the name of what is there)."""
    document = read_document(path, "suite")
    root = None if isinstance(document, Problem) else document.root
    skill = _text(root, "skill")
    name = next(_read_defined_name(path.parent, skill), skill) if skill else ""
    node = child(root, "skill")
    place = (node.line, node.column) if node else (0, 0)
    return TestedSkill(name, child(root, "scenario") is not None, *place)


def _text(root: yaml.Node | None, key: str) -> str:
    node = child(root, key)
    return node.text.strip() if isinstance(node, yaml.Scalar) and node.value is not None else ""


class DirectorySuite(msgspec.Struct, frozen=True):
    """The suite in a directory, and what it tests: the text of its `skill:`, and the names of that."""

    path: Path
    skill: str = ""
    names: frozenset[str] = frozenset()


def read_directory_suite(directory: Path, eval_file: str) -> DirectorySuite | None:
    """Return the suite of a directory; one that cannot be read tests nothing, and a run of it reports why."""
    path = _find_first_file([directory], eval_file)
    if path is None:
        return None
    document = read_document(path, "suite")
    skill = _text(None if isinstance(document, Problem) else document.root, "skill")
    return DirectorySuite(
        path, skill, frozenset({skill, *_read_defined_name(directory, skill)}) if skill else frozenset()
    )


def _read_defined_name(directory: Path, skill: str) -> Iterator[str]:
    """Yield the name of the skill or agent that a suite names by its path."""
    if is_path(skill):
        with suppress(SuiteError):
            yield read_target(resolve_path(directory, skill)).name


def discover_tree(
    root: Path, eval_file: str = EVAL_FILE, evals_dir: str | Path = "evals"
) -> list[DetectedSkill]:
    """Return every skill in a tree, with its suite. The name is that of the directory; the first one keeps it.

    Of hidden directories only the root's own `.github/skills` is looked into, and first. `evals_dir` is relative to
    the root.
    """
    root = Path(os.path.realpath(root))
    places = chain(_walk(root / ".github" / "skills"), _walk(root))
    skills = (file for place in places for file in list_definitions(place) if file.name == SKILL_FILE)
    return _unique_by_name(
        msgspec.structs.replace(
            describe_definition(file, root),
            name=file.parent.name,
            eval=_find_first_file(
                [*_list_suite_directories(file.parent), root / evals_dir / file.parent.name], eval_file
            ),
        )
        for file in skills
    )


def _detect_definition(directory: Path) -> list[DetectedSkill]:
    return [describe_definition(file, directory) for file in list_definitions(directory)[:1]]


def _detect_above(start: Path) -> list[DetectedSkill]:
    for parent in start.parents[:_PARENTS]:
        found = _detect_definition(parent) or _unique_by_name(_detect_builds(parent))
        if found:
            return found
    return []


def _detect_below(start: Path, skills: Path, *, every: bool) -> list[DetectedSkill]:
    places = (skills, start / ".github" / "skills", start / ".github" / "agents")
    trees = chain.from_iterable(_walk(place, into_skills=False) for place in places)
    builds = chain(_detect_builds_of_sources(start, skills), _detect_builds(start))
    found = [*_describe_all(trees, start), *builds]
    # Agents have a directory of their own; without any skill it is just one of the children.
    more = _walk(start / "agents", into_skills=False) if found else list_subdirectories(start)
    found += _describe_all(more, start)
    unique = _unique_by_name(found)
    return [one for one in found if one in unique or one.owner == one.directory] if every else unique


def _detect_builds(source: Path) -> list[DetectedSkill]:
    """Return the skills that a build put below `.apm/skills` of their source directory."""
    files = (
        file for place in list_subdirectories(source / ".apm" / "skills") for file in list_definitions(place)
    )
    return [describe_definition(file, source, source) for file in files]


def _detect_builds_of_sources(start: Path, skills: Path) -> Iterator[DetectedSkill]:
    """Yield `<skills>/<name>/.apm/skills/<name>/SKILL.md` for every skill source directory."""
    for source in list_subdirectories(skills):
        for file in list_definitions(source / ".apm" / "skills" / source.name):
            if file.name == SKILL_FILE:
                yield describe_definition(file, start, source)


def _describe_all(directories: Iterable[Path], root: Path) -> Iterator[DetectedSkill]:
    return (
        describe_definition(file, root) for directory in directories for file in list_definitions(directory)
    )


def _unique_by_name(found: Iterable[DetectedSkill]) -> list[DetectedSkill]:
    named: dict[str, DetectedSkill] = {}
    for one in found:
        named.setdefault(one.name, one)
    return list(named.values())


def _walk(top: Path, *, into_skills: bool = True) -> Iterator[Path]:
    """Yield a directory and those below it, by name. Links to directories are not followed."""
    for base, folders, files in os.walk(top):
        ends = SKILL_FILE in files and not into_skills
        folders[:] = [] if ends else sorted(filter(is_searched, folders))
        yield Path(base)


def _list_suite_directories(skill: Path) -> list[Path]:
    """Return the directories that may have the suite of a skill."""
    return [skill / "tests", skill / "evals", skill, skill.parent.parent / "evals" / skill.name]


def _find_first_file(places: Iterable[Path], eval_file: str) -> Path | None:
    candidates = (place / name for place in places for name in dict.fromkeys((eval_file, EVAL_FILE)))
    return next((file for file in candidates if _is_file(file)), None)


def _is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113  # Path.is_file raises for names that are too long
