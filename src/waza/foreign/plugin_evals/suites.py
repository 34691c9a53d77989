"""From cases to suites: cases that run alike are the tasks of one suite."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from waza.foreign.imported import FIXTURES, ImportedSuite, ImportedTask
from waza.foreign.notes import Notes
from waza.foreign.plugin_evals.cases import Case, find_cases, read_case
from waza.foreign.plugin_evals.graders import GraderContext, convert, is_unscored
from waza.foreign.plugin_evals.mocks import read_mocks
from waza.foreign.plugin_evals.plugin import Plugin, enclosing_plugin, note_parts, read_plugin
from waza.foreign.plugin_evals.scaffold import Scaffold
from waza.foreign.source import MAX_FIXTURE, SourceFolder
from waza.foreign.verbatim import in_prompt
from waza.kit.files import safe_join
from waza.kit.names import unused_name
from waza.report.transcripts import slug

_VARIABLE = re.compile(r"EVAL_[A-Z0-9_]*")


class _Group(msgspec.Struct, frozen=True, kw_only=True):
    """What the cases of a suite have in common."""

    plugins: tuple[Plugin, ...]
    runs: int
    model: str


def read_plugin_evals(
    source: SourceFolder, name: str, notes: Notes, scaffold: Scaffold | None
) -> tuple[ImportedSuite, ...]:
    """Return the suites of the cases below a folder; mistakes are in `source`.

    `scaffold` runs the scripts of cases; without it they do not run. `name` begins the names of the suites.
    """
    directories = find_cases(source)
    if not directories:
        source.error("no-task", "", "holds no case", "a case is a folder with prompt.md or case.yaml")
    cases = [case for one in directories if (case := read_case(source, one, notes)) is not None]
    groups: dict[_Group, list[Case]] = {}
    for case in cases:
        group = _Group(plugins=_plugins(source, case), runs=case.runs, model=case.model)
        groups.setdefault(group, []).append(case)
    ids = _ids(cases)
    return tuple(
        _Suite(source, name, group, own, notes, scaffold, ids, label=_label(group, list(groups))).make()
        for group, own in groups.items()
    )


def _ids(cases: list[Case]) -> dict[str, str]:
    """Return the ids of tasks by the folders of their cases: their names, or their folders where names are equal."""
    names = [case.name for case in cases]
    taken: set[str] = set()
    found = {}
    for case in cases:
        own = case.name if names.count(case.name) == 1 else case.directory.replace("/", "-") or case.name
        found[case.directory] = unused_name(own, taken)
        taken.add(found[case.directory])
    return found


def _label(group: _Group, groups: list[_Group]) -> str:
    """Return what tells the suite of a group from the others."""
    parts = []
    if len({one.plugins for one in groups}) > 1:
        parts += [plugin.name for plugin in group.plugins] or ["no-plugin"]
    if len({one.runs for one in groups}) > 1:
        parts.append(f"runs-{group.runs}")
    if len({one.model for one in groups}) > 1:
        parts.append(group.model or "default-model")
    return slug("-".join(parts)) if parts else ""


def _plugins(source: SourceFolder, case: Case) -> tuple[Plugin, ...]:
    home = source.root / case.directory
    if case.plugins is None:
        nearest = enclosing_plugin(home.resolve())
        return (nearest,) if nearest else ()
    found = []
    for name in case.plugins:
        plugin = read_plugin((home / name).resolve())
        if plugin is None:
            source.error("missing-file", case.directory, f"the folder {name!r} is not a plugin")
        else:
            found.append(plugin)
    return tuple(found)


class _Suite:
    """Makes the suite of a group of cases."""

    def __init__(
        self,
        source: SourceFolder,
        name: str,
        group: _Group,
        cases: list[Case],
        notes: Notes,
        scaffold: Scaffold | None,
        ids: dict[str, str],
        *,
        label: str,
    ) -> None:
        self.source, self.group, self.cases, self.notes = source, group, cases, notes
        self.scaffold, self.ids, self.label = scaffold, ids, label
        self.name = f"{name}-evals-{label}" if label else f"{name}-evals"
        self.inputs: dict[str, str] = {}
        self.files: dict[str, bytes] = {}
        self.own = Notes()  # on the suite as a whole

    def make(self) -> ImportedSuite:
        """Return the suite."""
        tasks = tuple(self._task(case) for case in self.cases)
        folders = [folder for plugin in self.group.plugins for folder in plugin.folders]
        skills = [skill for plugin in self.group.plugins for skill in plugin.skills]
        note_parts(self.group.plugins, self.own, self.source.name())
        if not folders:
            self.own.add(self.source.name(), "plugin", "none with skills is around the cases", unchecked=True)
        self.notes.extend(self.own)
        config: dict[str, Any] = {"trials_per_task": self.group.runs, "inject_skill_body": False}
        if self.group.model:
            config["model"] = self.group.model
            message = f"{self.group.model!r} is taken as it is; other agents call models by other names"
            self.own.add(self.source.name(), "model", message)
        if folders:
            config["skill_directories"] = folders
        keys: dict[str, Any] = {"schemaVersion": "1.4", "name": self.name}
        if len(skills) == 1:
            keys["skill"] = skills[0]
        keys["config"] = config
        if self.inputs:
            keys["inputs"] = self.inputs
        parts = [f"{note.what}: {note.message}" for note in self.own if note.unchecked]
        if parts:
            keys["caveats"] = parts
        return ImportedSuite(directory=self.label, keys=keys, tasks=tasks, files=self.files)

    def _task(self, case: Case) -> ImportedTask:
        own = Notes()
        fixtures = self._fixtures(case, own)
        context = GraderContext(
            plugins=tuple(plugin.name for plugin in self.group.plugins),
            skills=tuple(skill for plugin in self.group.plugins for skill in plugin.skills),
            fixtures=fixtures,
            two_arms=bool(self.group.plugins),
        )
        graders = [made for one in case.graders if (made := convert(one, context, own)) is not None]
        self._note_unscored(case, context, own)
        self._note_limits(case, own)
        keys: dict[str, Any] = {"id": self.ids[case.directory], "name": case.name}
        if description := "\n\n".join(filter(None, (case.description, case.expected_outcome))):
            keys["description"] = description
        if case.tags:
            keys["tags"] = list(case.tags)
        if case.timeout != 300:
            keys["timeout_seconds"] = case.timeout
        if case.append_system_prompt.strip():
            keys["instruction_files"] = [self._instructions(case, own)]
        keys["inputs"] = self._inputs(case, fixtures)
        if mocks := read_mocks(self.source, case, own):
            keys["mcp_mocks"] = mocks
        keys["graders"] = graders
        if caveats := [f"{note.what}: {note.message}" for note in own if note.unchecked]:
            keys["caveats"] = caveats
        self.notes.extend(own)
        return ImportedTask(keys=keys, origin=case.directory or self.source.root.name)

    def _inputs(self, case: Case, fixtures: dict[str, bytes]) -> dict[str, Any]:
        inputs: dict[str, Any] = {"prompt": in_prompt(case.prompt, self.inputs)}
        if fixtures:
            inputs["context"] = {"fixture": self._home(case)}
            self.files.update({f"{self._home(case)}/{name}": content for name, content in fixtures.items()})
        for key, value in case.env.items():
            if not _VARIABLE.fullmatch(key):
                message = f"the variable {key!r} is not allowed"
                self.source.error("invalid-value", case.directory, message, "names begin with EVAL_")
            elif "\0" in value:
                self.source.error(
                    "invalid-value", case.directory, f"{key} holds a NUL character", "remove it"
                )
        if case.env:
            inputs["environment"] = dict(case.env)
        return inputs

    def _home(self, case: Case) -> str:
        return f"{FIXTURES}/{slug(self.ids[case.directory])}"

    def _instructions(self, case: Case, notes: Notes) -> str:
        name = f"{slug(self.ids[case.directory])}.instructions.md"
        self.files[f"{FIXTURES}/{name}"] = case.append_system_prompt.encode("utf-8", "replace")
        message = "becomes a file of instructions, which is in the workspace as well"
        notes.add(self._file(case), "append_system_prompt", message)
        return name

    def _fixtures(self, case: Case, notes: Notes) -> dict[str, bytes]:
        """Return what is in the workspace at the start, by path: what the script makes, and the added folders."""
        found: dict[str, bytes] = {}
        if not self._are_inside(case):
            return found
        if case.context.scaffold_script:
            if self.scaffold is None:
                message = (
                    "the script was not run, so the workspace is empty; import with --scaffold to run it"
                )
                notes.add(self._file(case), "scaffold_script", message, unchecked=True)
            else:
                found.update(self.scaffold.run(self.source, case))
        for directory in case.context.add_dirs:
            for file in self.source.list_files(case.path(directory)):
                content = self.source.read(file, MAX_FIXTURE)
                if content is not None:
                    found[Path(file).relative_to(case.directory).as_posix()] = content
            notes.add(self._file(case), "add_dirs", f"{directory!r} is copied into the workspace")
        return found

    def _are_inside(self, case: Case) -> bool:
        """Refuse paths of a case that lead out of it."""
        before = len(self.source.problems)
        for path in filter(None, (case.context.scaffold_script, *case.context.add_dirs)):
            try:
                safe_join(self.source.root, path)
            except ValueError as error:
                self.source.error("outside-path", case.directory, str(error))
        return len(self.source.problems) == before

    def _note_unscored(self, case: Case, context: GraderContext, notes: Notes) -> None:
        names = [one.grader.name for one in case.graders if is_unscored(one.grader, context)]
        if names and len(names) < len(case.graders):
            message = f"these count here, and not where cases run with the plugin and without it: {', '.join(names)}"
            notes.add(self._file(case), "graders", message)

    def _note_limits(self, case: Case, notes: Notes) -> None:
        for key, value in self._limits(case):
            notes.add(self._file(case), key, f"has no equal here ({json.dumps(value, ensure_ascii=False)})")
        if case.context.history_file:
            message = "has no equal here, so the conversation starts with the prompt"
            notes.add(self._file(case), "history_file", message, unchecked=True)

    def _limits(self, case: Case) -> Iterator[tuple[str, Any]]:
        if case.max_turns is not None:
            yield "max_turns", case.max_turns
        if case.allowed_tools is not None:
            yield "allowed_tools", list(case.allowed_tools)
        if case.disallowed_tools:
            yield "disallowed_tools", list(case.disallowed_tools)

    def _file(self, case: Case) -> str:
        return self.source.name(case.directory)
