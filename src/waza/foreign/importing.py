"""From a file or directory of another tool to suites: what it is decides who reads it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from waza.errors import UsageError
from waza.foreign.agent_skills import EvalTasks, read_evals
from waza.foreign.imported import Imported, ImportedSuite
from waza.foreign.notes import Notes
from waza.foreign.plugin_evals.plugin import enclosing_plugin, read_plugin
from waza.foreign.plugin_evals.scaffold import Scaffold
from waza.foreign.plugin_evals.suites import read_plugin_evals
from waza.foreign.recognize import NAMES, SUITES, is_unfinished_case, recognize
from waza.foreign.skill_place import find_skill, skill_keys
from waza.foreign.source import SourceFolder
from waza.foreign.trigger_queries import METRICS, read_queries
from waza.kit.files import is_inside, safe_join

EVALS = "evals"


class ImportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the user decides.

    `skill` is the skill that evals are about, where it is not found. `scaffold`: scripts of cases may run.
    `one_judge`: a judge is asked about all statements of an eval at once.
    """

    skill: Path | None = None
    scaffold: bool = False
    one_judge: bool = False


def import_suites(origin: Path, options: ImportOptions) -> Imported:
    """Return the suites that a file or directory of another tool comes to.

    Raises UsageError for what is no suite of another tool, SuiteError with all mistakes in it.
    """
    kind = recognize(origin)
    if kind is None and is_unfinished_case(origin):
        kind = "plugin-evals"  # whose reader names what is missing
    if kind not in SUITES:
        raise UsageError(_refuse(origin, NAMES[kind] if kind else ""))
    if kind == "plugin-evals":
        return _import_plugin_evals(origin, options)
    return _import_evals(origin, options)


def _refuse(origin: Path, what: str) -> str:
    """Return why something is not imported. Raises SuiteError for JSON with mistakes."""
    if not os.path.lexists(origin):
        return f"there is no file or directory {origin}"
    if not what and origin.suffix.lower() == ".json" and origin.is_file():
        source = SourceFolder(origin.parent)
        source.read_json(origin.name)
        source.raise_errors()
    taken = ", ".join(NAMES[kind] for kind in SUITES)
    return (
        f"{origin} is {what or 'nothing that waza knows'}, which is not imported; waza import takes {taken}"
    )


def _import_evals(origin: Path, options: ImportOptions) -> Imported:
    """Import the files of Agent Skills evals and of trigger queries: one, or those of a skill's directory."""
    skill, notes = find_skill(origin, options.skill), Notes()
    files = [origin] if origin.is_file() else _json_files(origin)
    above = files[0].absolute().parent
    root = skill.directory if skill else above.parent if above.name == EVALS else above
    source = SourceFolder(root if all(is_inside(root, file) for file in files) else above)
    tasks: EvalTasks | None = None
    triggers: dict[str, Any] = {}
    for file in files:
        relative = Path(os.path.relpath(file.absolute(), source.root)).as_posix()
        kind = recognize(file)
        if kind not in SUITES:
            if source.read_json(relative) is not None:
                what = f"is {NAMES[kind]}, which is" if kind else "is"
                notes.add(source.name(relative), "file", f"{what} not imported")
        elif kind == "trigger-queries":
            read_queries(source, relative, notes, triggers)
        elif tasks is None:
            tasks = read_evals(source, relative, notes, one_judge=options.one_judge)
        else:
            source.error(
                "conflicting-keys", relative, "there is another file with evals", "import each by itself"
            )
    source.raise_errors()
    named = tasks.skill_name if tasks else ""
    head, config = skill_keys(skill, named, notes, source.name())
    name = named or (skill.name if skill else origin.stem)
    suite = _suite(name, head, config, tasks, triggers, notes)
    return Imported(
        kind="agent-skills" if tasks else "trigger-queries",
        name=name,
        origin=origin,
        suites=(suite,),
        notes=tuple(notes),
    )


def _json_files(directory: Path) -> list[Path]:
    """Return the JSON files of a skill's directory and of its evals, those with trigger queries last."""
    found = [
        path
        for folder in (directory, directory / EVALS)
        if folder.is_dir()
        for path in sorted(folder.iterdir())
        if path.suffix.lower() == ".json" and path.is_file()
    ]
    return sorted(found, key=lambda path: recognize(path) == "trigger-queries")


def _suite(
    name: str,
    head: dict[str, Any],
    config: dict[str, Any],
    tasks: EvalTasks | None,
    triggers: dict[str, Any],
    notes: Notes,
) -> ImportedSuite:
    """Return the suite of the evals and trigger queries of a skill."""
    keys: dict[str, Any] = {
        "schemaVersion": "1.4",
        "name": f"{name}-evals" if tasks else f"{name}-triggers",
        **head,
    }
    if tasks and "skill_directories" in config:
        keys["baseline"] = True
    keys["config"] = {"trials_per_task": 1, **config} if tasks else config
    if triggers:
        keys["metrics"] = METRICS
    if tasks and tasks.inputs:
        keys["inputs"] = tasks.inputs
    if caveats := [f"{note.what}: {note.message}" for note in notes if note.unchecked]:
        keys["caveats"] = list(dict.fromkeys(caveats))
    lists = {key: listed for key, listed in triggers.items() if listed}
    return ImportedSuite(
        keys=keys,
        tasks=tasks.tasks if tasks else (),
        trigger_tests={"skill": head.get("skill") or name, **lists} if lists else None,
        files=tasks.files if tasks else {},
    )


def _import_plugin_evals(origin: Path, options: ImportOptions) -> Imported:
    home = origin if origin.is_dir() else origin.parent
    plugin, notes = read_plugin(home), Notes()
    root = home
    if plugin is not None:
        try:
            root = safe_join(home, plugin.evals)
        except ValueError as error:
            raise UsageError(f"the evals of the plugin {plugin.name} are elsewhere: {error}") from None
        if not root.is_dir():
            raise UsageError(f"the plugin {plugin.name} has no directory {plugin.evals} with cases")
    around = plugin or enclosing_plugin(root.resolve())
    name = around.name if around else root.resolve().name
    source = SourceFolder(root)
    suites = read_plugin_evals(source, name, notes, Scaffold() if options.scaffold else None)
    source.raise_errors()
    return Imported(kind="plugin-evals", name=name, origin=origin, suites=suites, notes=tuple(notes))
