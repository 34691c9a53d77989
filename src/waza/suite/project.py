"""`.waza.yaml`: the settings of a project, found by walking up from a directory."""

from __future__ import annotations

from pathlib import Path

import msgspec

from waza.errors import SuiteError
from waza.kit.decode import Decoder, Unknown, did_you_mean, fields_of
from waza.model.loaded import Project, ProjectFile
from waza.problem import Problem
from waza.suite.read import read_document

FILE = ".waza.yaml"
LEVELS = 10  # the start directory and nine parents


def find_project(start: Path) -> Project:
    """Return the project that `start` lies in. Raises SuiteError for a broken `.waza.yaml`."""
    for directory in [start, *start.parents][:LEVELS]:
        if (directory / FILE).is_file():
            return _read(directory)
    return Project(directory=start)


def default_skill_dirs(project: Project) -> tuple[Path, ...]:
    """Return where the agent finds skills if a suite lists no directory: the project's, if it is there."""
    skills = (project.directory / project.keys.paths.skills).resolve()
    return (skills,) if project.found and skills.is_dir() else ()


def _read(directory: Path) -> Project:
    document = read_document(directory / FILE, "project")
    if isinstance(document, Problem):
        raise SuiteError([document])
    decoder = Decoder(document, _unknown)
    keys = decoder.read(ProjectFile)
    errors = [problem for problem in decoder.problems if problem.severity == "error"]
    if keys is None and not errors:
        keys = ProjectFile()  # an empty file
    if keys is None or errors:
        raise SuiteError(errors)
    return Project(
        directory=directory, keys=_without_zeros(keys), found=True, warnings=tuple(decoder.problems)
    )


def _unknown(struct: type, key: str, _path: tuple[str | int, ...]) -> Unknown:
    return Unknown("warning", did_you_mean(key, (field.key for field in fields_of(struct))))


def _without_zeros(keys: ProjectFile) -> ProjectFile:
    """Put defaults back where a file wrote zero or nothing: neither overrides a default."""
    sections = {}
    for field in msgspec.structs.fields(ProjectFile):
        value = getattr(keys, field.name)
        if isinstance(value, msgspec.Struct):
            sections[field.name] = msgspec.structs.replace(
                value,
                **{
                    item.name: item.default
                    for item in msgspec.structs.fields(value)
                    if getattr(value, item.name) in (0, "")
                    and not isinstance(getattr(value, item.name), bool)
                },
            )
    return msgspec.structs.replace(keys, **sections)
