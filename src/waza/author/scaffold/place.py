"""Place: where the files of a new skill, agent or suite go, and what the project says of new ones."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from waza.errors import UsageError
from waza.kit import yaml
from waza.kit.glob import matches
from waza.model.capabilities import Capabilities
from waza.model.loaded import Project, ProjectFile
from waza.plugins import require_executor
from waza.problem import Problem, display_path
from waza.registry.scalar import format_scalar
from waza.suite.discover import project_directories
from waza.suite.project import FILE, LEVELS, find_project
from waza.suite.read import child, read_document

MOCK = "mock"
"""The executor of new suites, unless somebody names another: they run before there is an agent."""

AGENT = "copilot-sdk"
"""The executor of new scenarios, which are about what only an agent uses: servers and programs."""

_SKILLS = ("skills", ".github/skills")
_WILD = ("*", "?", "[")
_SCHEMAS = ".waza/schemas"


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where new files go. Paths are absolute.

    `root` is the directory of the project. `has_skills`: skills and suites have directories of their own there;
    else a new skill has its suite below itself. `engine` is the executor that `.waza.yaml` names, empty where it
    does not.
    """

    root: Path
    keys: ProjectFile = ProjectFile()
    has_skills: bool = False
    skills: Path
    engine: str = ""

    @property
    def evals(self) -> Path:
        """The directory of suites, each of which is in a directory of its own."""
        return self.root / self.keys.paths.evals

    @property
    def agents(self) -> Path:
        """The directory of custom agents."""
        hidden = self.root / ".github" / "agents"
        return hidden if hidden.is_dir() and not (self.root / "agents").is_dir() else self.root / "agents"

    @property
    def eval_file(self) -> str:
        """The name of suite files."""
        return self.keys.files.evalFile

    def task_file(self, suite: Path, stem: str) -> Path:
        """Return the path of a task of the suite in a directory. Raises UsageError where its pattern would not fit."""
        pattern, suffix = self.keys.files.taskGlob.replace("\\", "/"), self.keys.files.taskFileSuffix
        folder, _, last = pattern.rpartition("/")
        if any(sign in folder for sign in _WILD) or not matches(last, f"{stem}{suffix}"):
            raise UsageError(
                f"{display_path(self.root / FILE)}: files.taskGlob {pattern!r} does not find files that end in "
                f"{suffix!r} (files.taskFileSuffix); correct one of the two"
            )
        return suite / folder / f"{stem}{suffix}"


class NewExecutor(msgspec.Struct, frozen=True, kw_only=True):
    """The executor of a new suite, and what it can do. `options` are the keys of `executor_options`."""

    name: str
    options: dict[str, str] = {}
    capabilities: Capabilities

    @property
    def sees_calls(self) -> bool:
        """Whether it is known which tools its agent calls."""
        return self.capabilities.tool_calls

    @property
    def sees_skills(self) -> bool:
        """Whether it is known which skills its agent uses."""
        can = self.capabilities
        return can.tool_calls and (can.scripted or can.skills)

    def require_judge(self, wanted: bool) -> None:
        """Raise UsageError if a judge is wanted, and it has none."""
        if wanted and not self.capabilities.judge:
            raise UsageError(f"the executor {self.name} has no judge; leave --judge out")

    @property
    def config(self) -> str:
        """The options as lines of a suite's `config`."""
        if not self.options:
            return ""
        written = ", ".join(f"{key}: {format_scalar(value)}" for key, value in self.options.items())
        return f"executor_options: {{{written}}}"


def find_place(start: Path) -> Place:
    """Return the place of new files for who works in a directory (an absolute path).

    A project is where `.waza.yaml` is, else the nearest directory with skills from here up to the root of the
    repository. Raises SuiteError for a broken `.waza.yaml`.
    """
    project = find_project(start)
    if project.found:
        skills = project.directory / project.keys.paths.skills
        return Place(
            root=project.directory,
            keys=project.keys,
            has_skills=True,
            skills=Path(os.path.normpath(skills)),
            engine=_named_engine(project),
        )
    for directory in _upwards(start):
        for name in _SKILLS:
            if (directory / name).is_dir():
                return Place(root=directory, has_skills=True, skills=directory / name)
    return Place(root=start, skills=start)


def _upwards(start: Path) -> list[Path]:
    """Return a directory and those above it, up to the root of the repository; without one, some, but for the home."""
    within = project_directories(start)
    if len(within) > 1 or (start / ".git").exists():
        return within
    return [start, *(one for one in start.parents[: LEVELS - 1] if one != Path.home())]


def _named_engine(project: Project) -> str:
    """Return the executor that `.waza.yaml` itself names; nobody chose the default of the key."""
    document = read_document(project.directory / FILE, "project")
    node = None if isinstance(document, Problem) else child(document.root, "defaults", "engine")
    return project.keys.defaults.engine if isinstance(node, yaml.Scalar) and node.text.strip() else ""


def choose_executor(wanted: str, place: Place, default: str = MOCK) -> NewExecutor:
    """Return the executor of a new suite: that of the option, else of `.waza.yaml`, else the default.

    Raises UsageError for one that is not there, or lacks what it has to know.
    """
    name, options, capabilities = require_executor(wanted or place.engine or default)
    return NewExecutor(name=name, options=options, capabilities=capabilities)


def schema_comment(file: Path, root: Path, kind: str) -> str:
    """Return the comment by which editors find the schema of a new file: in `.waza` of its project."""
    schema = root / _SCHEMAS / f"{kind}.schema.json"
    try:
        place = Path(os.path.relpath(schema, file.parent)).as_posix()
    except ValueError:  # on Windows, where they are on different drives
        place = schema.as_uri()
    return f"# yaml-language-server: $schema={place}"
