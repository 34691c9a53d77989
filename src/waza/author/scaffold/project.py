"""`waza init`: the settings and directories of a project, and on request files for its CI server and its hooks."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import msgspec

from waza.author.scaffold.new_files import NewFiles
from waza.author.scaffold.place import AGENT, schema_comment
from waza.author.scaffold.template import fill_file
from waza.errors import UsageError
from waza.kit import yaml
from waza.model.loaded import Paths, ProjectFile
from waza.registry.scalar import format_scalar
from waza.suite.definition import SKILL_FILE
from waza.suite.discover import is_searched
from waza.suite.project import FILE
from waza.version import __version__

SOURCE = "https://github.com/your-organization/waza"
"""In the place of the repository that has waza, until somebody names it."""

ABOUT_SOURCE = "replace your-organization in workflow and hooks by the owner of the repository that has waza"
"""What is to be done about it."""

WORKFLOW = ".github/workflows/eval.yml"
HOOKS = ".pre-commit-config.yaml"
_REPOSITORY = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)
_EVAL_FILES = ("eval.yaml", "eval.yml")
_SHOWN = ("files", "cache", "server", "dev", "tokens", "graders")
"""Sections of `.waza.yaml` whose defaults are shown."""


class ProjectRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a project is to have. `engine` empty: new suites begin on the mock. `source` is the repository of waza."""

    root: Path
    paths: Paths
    engine: str = ""
    model: str = ProjectFile().defaults.model
    workflow: bool = False
    hooks: bool = False
    source: str = SOURCE


class ProjectPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The files to write, those that are there and stay, and directories to make. `notes` is what is left to do by hand."""

    files: NewFiles
    kept: tuple[Path, ...]
    directories: tuple[Path, ...]
    notes: tuple[str, ...] = ()


def check_path(option: str, text: str) -> str:
    """Return the path of a directory of the project. Raises UsageError for one that leads elsewhere."""
    plain = text.replace("\\", "/").strip()
    parts = PurePosixPath(plain).parts
    if not plain or plain.startswith(("/", "~")) or ".." in parts or ":" in plain or "#" in plain:
        raise UsageError(
            f"{option} {text!r} is not a directory of the project; give it relative to its root, without ':' and '#'"
        )
    return f"{PurePosixPath(plain)}/"


def detect_paths(root: Path) -> Paths:
    """Return where a project has its skills, suites and results already; the defaults where it has none."""
    skills, evals, results = Counter[str](), Counter[str](), Counter[str]()
    for base, folders, files in os.walk(root):
        folders[:] = sorted(filter(is_searched, folders))
        above = Path(base).parent
        if SKILL_FILE in files and "skill" in above.name.lower() and _is_below(above, root):
            skills[_relative(above, root)] += 1
        if (
            any(name in files for name in _EVAL_FILES)
            and "eval" in above.name.lower()
            and _is_below(above, root)
        ):
            evals[_relative(above, root)] += 1
        if any(name.endswith(".json") and "results" in name for name in files) and base != str(root):
            results[_relative(Path(base), root)] += 1
    usual = Paths()
    return Paths(
        skills=_choose(skills, usual.skills, root),
        evals=_choose(evals, usual.evals, root),
        results=_choose(results, usual.results, root),
    )


def plan_project(request: ProjectRequest) -> ProjectPlan:
    """Return what is to be written for a project; what is there already stays."""
    root, wanted, notes = request.root, NewFiles(), list[str]()
    wanted.add(root / FILE, _settings(request))
    wanted.add(root / ".gitignore", fill_file("project/gitignore", {"results": request.paths.results}))
    if not any((root / name).exists() for name in ("README.md", "README", "readme.md", "README.rst")):
        values = {"title": root.name, "skills": request.paths.skills, "evals": request.paths.evals}
        wanted.add(root / "README.md", fill_file("project/README.md", values))
    if request.workflow:
        wanted.add(root / WORKFLOW, workflow(request.source))
    if request.hooks:
        values = {"source": format_scalar(request.source), "version": __version__}
        wanted.add(root / HOOKS, fill_file("project/pre-commit-config.yaml", values))
    kept = [path for path in wanted if os.path.lexists(path)]
    notes += _missing_lines(root / ".gitignore", wanted) if root / ".gitignore" in kept else []
    if root / HOOKS in kept and "waza-check" not in _read(root / HOOKS):
        notes.append(
            f"{HOOKS} is there already; add these to its repos:\n{_hook_entry(wanted.text(root / HOOKS))}"
        )
    files = wanted.without(kept)
    notes += _unused_source(request, kept)
    if request.source == SOURCE and any(root / name in [*files] for name in (WORKFLOW, HOOKS)):
        notes.append(f"{ABOUT_SOURCE}, or use --source")
    places = (root / request.paths.skills, root / request.paths.evals)
    return ProjectPlan(
        files=files,
        kept=tuple(kept),
        directories=tuple(Path(os.path.normpath(one)) for one in places if not one.is_dir()),
        notes=tuple(notes),
    )


def workflow(source: str) -> str:
    """Return a workflow for GitHub that runs the suites of a repository by the action of another, given by its address."""
    return fill_file("project/eval.yml", {"action": f"{_repository(source)}@v{__version__}"})


def _repository(source: str) -> str:
    """Return the owner and name of a repository on GitHub, given by its address."""
    path = urlsplit(source).path.strip("/").removesuffix(".git")
    if not _REPOSITORY.fullmatch(path):
        raise UsageError(f"{source!r} is not the address of a repository on GitHub, such as {SOURCE}")
    return path


def _settings(request: ProjectRequest) -> str:
    usual = msgspec.to_builtins(ProjectFile())
    others = {key: value for key, value in usual["defaults"].items() if key not in ("engine", "model")}
    note = "the executor of new suites; without it they begin on the mock"
    values = {
        "schema": schema_comment(request.root / FILE, request.root, "config"),
        "skills": format_scalar(request.paths.skills),
        "evals": format_scalar(request.paths.evals),
        "results": format_scalar(request.paths.results),
        "engine": f"engine: {format_scalar(request.engine)}"
        if request.engine
        else f"# engine: {AGENT}  # {note}",
        "model": format_scalar(request.model),
        "others": _commented(others),
        "sections": _commented({key: _without_unset(usual[key]) for key in _SHOWN}),
    }
    return fill_file("project/waza.yaml", values)


def _commented(keys: dict[str, object]) -> str:
    return "".join(f"# {line}\n" for line in yaml.dump(keys).splitlines())


def _without_unset(section: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in section.items() if value is not None}


def _missing_lines(path: Path, wanted: NewFiles) -> Iterator[str]:
    """Yield a note with the lines that an existing `.gitignore` lacks."""
    there = {line.strip().strip("/") for line in _read(path).splitlines()}
    lines = [line for line in wanted.text(path).splitlines() if not line.startswith("#")]
    missing = [line for line in lines if line.strip("/") not in there]
    if missing:
        yield f"add to .gitignore what waza writes: {', '.join(missing)}"


def _unused_source(request: ProjectRequest, kept: Collection[Path]) -> Iterator[str]:
    """Yield notes of where the source that was named does not get to."""
    if request.source == SOURCE:
        return
    if not (request.workflow or request.hooks):
        yield "--source has no effect without --workflow or --hooks"
    for name, named in ((WORKFLOW, f"{_repository(request.source)}@"), (HOOKS, request.source)):
        if request.root / name in kept and named not in _read(request.root / name):
            yield f"{name} is there already and was kept, without --source {request.source}; put it there yourself"


def _hook_entry(text: str) -> str:
    return text.partition("repos:\n")[2].rstrip("\n")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _choose(found: Counter[str], usual: str, root: Path) -> str:
    """Return the usual directory if it is there, else the nearest of those found, of these the one with the most."""
    if (root / usual).is_dir() or not found:
        return usual
    return min(found, key=lambda path: (path.count("/"), -found[path], path))


def _is_below(path: Path, root: Path) -> bool:
    return path != root and path.is_relative_to(root)


def _relative(path: Path, root: Path) -> str:
    return f"{path.relative_to(root).as_posix()}/"
