"""`.waza.yaml`: the settings of a project, found by walking up from a directory."""

from __future__ import annotations

from pathlib import Path

import msgspec

from waza.errors import SuiteError
from waza.kit.decode import Decoder
from waza.model.loaded import Project, ProjectFile
from waza.problem import Problem
from waza.suite.read import UnknownKeyRule, at, read_document

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
    storage = keys.storage if keys and keys.storage and keys.storage.enabled else None
    if storage and storage.provider and not storage.accountName:
        hint = "enabled: false switches the section off"
        decoder.add_error(
            "missing-key", at(document, "storage"), ("storage",), "'accountName' is missing", hint
        )
    errors = [problem for problem in decoder.problems if problem.severity == "error"]
    if keys is None and not errors:
        keys = ProjectFile()  # an empty file
    if keys is None or errors:
        raise SuiteError(errors)
    warnings = [*decoder.problems]
    if storage:
        why = "this version of waza has no storage yet" if storage.provider else "'provider' is missing"
        message, hint = f"results are not uploaded: {why}", "enabled: false switches the section off"
        warnings.append(
            document.problem("no-effect", at(document, "storage"), ("storage",), message, hint, "warning")
        )
    return Project(directory=directory, keys=_restore_defaults(keys), found=True, warnings=tuple(warnings))


def _restore_defaults(keys: ProjectFile) -> ProjectFile:
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
