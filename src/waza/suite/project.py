"""`.waza.yaml`: the settings of a project, found by walking up from a directory."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from waza.errors import SuiteError
from waza.kit import yaml
from waza.kit.decode import Decoder
from waza.model.base import Keys
from waza.model.loaded import Project, ProjectFile
from waza.problem import Problem
from waza.suite.read import UnknownKeyRule, at, child, read_document
from waza.suite.storage import check_storage

T = TypeVar("T", bound=Keys)
S = TypeVar("S", bound=msgspec.Struct)

FILE = ".waza.yaml"
LEVELS = 10  # the start directory and nine parents


def find_project(start: Path) -> Project:
    """Return the project that `start` lies in. Raises SuiteError for a broken `.waza.yaml`."""
    for directory in [start, *start.parents][:LEVELS]:
        if (directory / FILE).is_file():
            return _read(directory)
    return Project(directory=start)


def project_skills(suite: Path) -> tuple[Path, ...]:
    """Return the skills directory of the project that a suite's directory lies in, if it is there.

    Outside of any project it is that of the project around the current directory. Raises SuiteError for a broken
    `.waza.yaml`.
    """
    project = find_project(suite)
    if not project.found:
        project = find_project(Path.cwd())
    skills = (project.directory / project.keys.paths.skills).resolve()
    return (skills,) if project.found and skills.is_dir() else ()


def _read(directory: Path) -> Project:
    document = read_document(directory / FILE, "project")
    if isinstance(document, Problem):
        raise SuiteError([document])
    decoder = Decoder(document, UnknownKeyRule().of(document, ProjectFile))
    keys = decoder.read(ProjectFile)
    if keys and keys.storage and keys.storage.enabled:
        check_storage(document, decoder, _with_defaults(keys.storage))
    errors = [problem for problem in decoder.problems if problem.severity == "error"]
    if keys is None and not errors:
        keys = ProjectFile()  # an empty file
    if keys is None or errors:
        raise SuiteError(errors)
    return Project(
        directory=directory, keys=_restore_defaults(keys), found=True, warnings=tuple(decoder.problems)
    )


def read_storage_options(project: Project, kind: type[T]) -> T:
    """Return `storage.options` of a project as the struct that the class of a store calls `Options`.

    Raises SuiteError, with the places in `.waza.yaml`, if they do not fit.
    """
    document = read_document(project.directory / FILE, "project")
    if isinstance(document, Problem):
        raise SuiteError([document])
    path = ("storage", "options")
    place = at(document, "storage")
    node = child(document.root, *path) or yaml.Mapping({}, {}, place.line, place.column)
    decoder = Decoder(document)
    options = decoder.read(kind, node, path)
    if options is None or decoder.problems:
        raise SuiteError(decoder.problems)
    return options


def _restore_defaults(keys: ProjectFile) -> ProjectFile:
    """Put defaults back where a file wrote zero or nothing: neither overrides a default."""
    sections = {
        field.name: _with_defaults(getattr(keys, field.name))
        for field in msgspec.structs.fields(ProjectFile)
        if isinstance(getattr(keys, field.name), msgspec.Struct)
    }
    return msgspec.structs.replace(keys, **sections)


def _with_defaults(section: S) -> S:
    values = {
        field.name: field.default
        for field in msgspec.structs.fields(section)
        if getattr(section, field.name) in (0, "") and not isinstance(getattr(section, field.name), bool)
    }
    return msgspec.structs.replace(section, **values)
