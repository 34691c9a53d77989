"""Which suites a command means: paths, names and patterns of skills and suites, or the workspace around.

Skills and agents are looked up by `find_targets`. A suite is meant by its file, its directory, the name of that among the
suites of the project, or through the skill that it tests.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from waza.cli.find_targets import expand_paths, find_around, find_matching, find_named, is_pattern
from waza.errors import UsageError
from waza.kit.glob import matches
from waza.kit.names import nearest_name
from waza.kit.text import pluralize
from waza.model.loaded import Project
from waza.problem import display_path
from waza.report.words import Write, status_mark
from waza.suite.definition import is_definition, make_absolute
from waza.suite.detect import (
    DetectedSkill,
    DirectorySuite,
    describe_definition,
    detect_below,
    discover_tree,
    find_suites_below,
    looks_like_path,
)
from waza.suite.discover import list_definitions
from waza.suite.locate import SuiteLocator


class Chosen(msgspec.Struct, frozen=True):
    """A suite to run, and the directory of the skill that it was found through, if any.

    `source` is the suite of another tool that it was imported from.
    """

    path: Path
    skill_dir: Path | None = None
    name: str = ""
    source: Path | None = None

    @property
    def label(self) -> str:
        """What it is called, read or not."""
        return self.name or self.path.parent.name or self.path.stem


class Choice(msgspec.Struct, frozen=True):
    """The suites to run, and the names of the skills that were found and have none.

    `others` are the suites of the project that name a skill and that no skill of the workspace is tested with, where all of
    it was meant.
    """

    suites: list[Chosen]
    without_suite: tuple[str, ...] = ()
    others: tuple[Path, ...] = ()


def choose_suites(
    targets: tuple[str, ...],
    project: Project,
    say: Write,
    *,
    discover: bool = False,
    strict: bool = False,
    importing: bool = False,
) -> Choice:
    """Return the suites to run, each once; without targets those of the workspace.

    `importing`: suites of other tools are imported into the project; else they are refused.
    Raises UsageError if there are no suites, one of the targets has none, or any skill has none under `strict`.
    """
    if discover:
        if len(targets) > 1:
            raise UsageError("--discover takes one directory")
        return _discover(Path(next(iter(targets), ".")), project, say, strict=strict)
    if len(targets) > 1 and (absent := [name for name in targets if _is_absent(name)]):
        raise UsageError(f"there is no such suite file: {', '.join(absent)}; nothing was run")
    look_up = _LookUp(project, say if importing else None)
    parts = [look_up.find(target) for target in targets] if targets else [look_up.around()]
    chosen: dict[Path, Chosen] = {}
    for part in parts:
        for one in part.suites:
            chosen.setdefault(make_absolute(one.path), one)
    without = tuple(dict.fromkeys(name for part in parts for name in part.without_suite))
    _refuse_missing(without, strict=strict)
    for note in dict.fromkeys(look_up.notes):
        say(f"note: {note}")
    for name in without:
        say(f"skipping {name}: it has no {project.keys.files.evalFile}")
    return Choice(list(chosen.values()), without, parts[0].others)


def choose_suite(target: str, project: Project) -> Chosen:
    """Return the one suite that a target means. Raises UsageError for none and for several."""
    found = _LookUp(project).find(target).suites
    if len(found) > 1:
        raise UsageError(
            f"{target} means {len(found)} suites; name one: {', '.join(_path(one) for one in found)}"
        )
    return found[0]


class _LookUp:
    """Finds the suites that targets mean, in one project.

    Suites of other tools are imported where there is a `say`, which gets what is to know of it.
    """

    def __init__(self, project: Project, say: Write | None = None) -> None:
        self._project, self._say = project, say
        self._eval_file = project.keys.files.evalFile
        self._locator = SuiteLocator(project)
        self._here = self._locator.in_directory(Path.cwd())
        self.notes: list[str] = []
        self._refusals: dict[str, str] = {}  # why a suite is not that of a skill, by its name

    def around(self) -> Choice:
        """Return the suites of the workspace. Raises UsageError where nothing is found."""
        skills = find_named(None, self._project)
        found = self._of_skills(skills)
        taken = {make_absolute(one.path) for one in found.suites}
        rest = [path for path in self._locator.all() if path not in taken]
        own = [path for path in rest if self._is_of_workspace(path)]
        if not found.suites and self._here:
            own = list(dict.fromkeys([self._here.path, *own]))
        suites = [*found.suites, *map(Chosen, own)]
        if not suites:
            raise UsageError(self._lacks(found.without_suite) if skills else self._nothing(""))
        return Choice(suites, found.without_suite, tuple(path for path in rest if path not in own))

    def _is_of_workspace(self, path: Path) -> bool:
        """Return whether a suite below the current directory names no skill, as scenarios do: no skill leads to it."""
        suite = self._locator.in_directory(path.parent)
        return suite is not None and not suite.skill and path.is_relative_to(Path.cwd())

    def find(self, target: str) -> Choice:
        """Return the suites that a target means. Raises UsageError where nothing is found.

        Skills without one are part of the answer where the target is a pattern or a directory of skills.
        """
        if is_pattern(target):
            return self._matching(target)
        # Not Path.is_dir, which raises for names that are too long.
        if os.path.isdir(target):  # noqa: PTH112  # see above
            return self._by_directory(target)
        if looks_like_path(target):
            path = Path(target)
            if _is_definition_file(path):
                return self._by_definition(path)
            return self._imported(path) or Choice([Chosen(path)])
        return self._by_name(target) or self._refuse(target)

    def _by_name(self, name: str) -> Choice | None:
        skills = find_named(name, self._project)
        found = self._of_skills(skills)
        if found.suites:
            return found
        path = self._locator.named(name)
        if path is None and self._here and name in self._here.names:
            path = self._here.path
        if path is not None:
            return Choice([Chosen(path)])
        if len(skills) == 1 and (imported := self._imported(skills[0].directory)):
            return imported
        if skills:
            raise UsageError(self._lacks(found.without_suite))
        return None

    def _imported(self, path: Path) -> Choice | None:
        """Return the suites of another tool that a file or directory has; None for anything else."""
        if not os.path.exists(path):  # noqa: PTH110  # Path.exists raises for names that are too long
            return None
        from waza.cli.import_for_run import import_for_run, recognize_foreign

        kind = recognize_foreign(path)
        if kind is None:
            return None
        if self._say is None:
            raise UsageError(
                f"{path} is a suite of another tool; make one of waza with: waza import {path} -o DIR"
            )
        suites = import_for_run(path, kind, self._project, self._say)
        return Choice([Chosen(suite, source=path) for suite in suites])

    def _by_definition(self, definition: Path) -> Choice:
        definition = make_absolute(definition)
        found = self._of_skills([describe_definition(definition, definition.parent)], by_path=True)
        if found.suites:
            return found
        if imported := self._imported(definition.parent):
            return imported
        raise UsageError(self._lacks(found.without_suite))

    def _by_directory(self, target: str) -> Choice:
        directory = make_absolute(Path(target))
        defines = bool(self._locator.in_directory(directory) or list_definitions(directory))
        named = None if defines or looks_like_path(target) else self._by_name(target)
        found = named or self._in_directory(Path(target))
        if found.suites:
            if not defines:
                self._refuse_two_meanings(target, found)
            return found
        if imported := self._imported(Path(target)):
            return imported
        if found.without_suite:
            raise UsageError(self._lacks(found.without_suite))
        raise UsageError(
            f"{target} is a directory without {self._eval_file}, and so are all below it; name a suite file"
        )

    def _in_directory(self, place: Path) -> Choice:
        """Return the suite of a directory, else the suites of the skill or agents that it defines, else all below it."""
        directory = make_absolute(place)
        suite = self._locator.in_directory(directory)
        if suite:
            return Choice([Chosen(place / suite.path.name)])
        found = self._of_skills(_skills_of(directory), by_path=True)
        taken = {make_absolute(one.path) for one in found.suites}
        below = find_suites_below(directory, self._eval_file)
        more = [Chosen(path) for path in below if path not in taken]
        return Choice([*found.suites, *more], found.without_suite)

    def _matching(self, pattern: str) -> Choice:
        if looks_like_path(pattern):
            parts = [self._of_path(path) for path in expand_paths(pattern)]
            found = Choice(
                [one for part in parts for one in part.suites],
                tuple(name for part in parts for name in part.without_suite),
            )
        else:
            found = self._of_skills(find_matching(pattern, self._project))
            taken = {make_absolute(one.path) for one in found.suites}
            named = [path for path in self._locator.all() if matches(pattern, path.parent.name)]
            found = Choice(
                [*found.suites, *(Chosen(path) for path in named if path not in taken)], found.without_suite
            )
        if not found.suites and found.without_suite:
            raise UsageError(self._lacks(found.without_suite))
        return found if found.suites else self._refuse(pattern)

    def _of_path(self, path: Path) -> Choice:
        """Return the suites of what a pattern of paths matched; of any other file nothing."""
        if path.is_dir():
            return self._in_directory(path)
        if is_definition(path):
            return self._of_skills([describe_definition(make_absolute(path), path.parent)], by_path=True)
        return Choice([Chosen(path)] if path.suffix in (".yaml", ".yml") else [])

    def _of_skills(self, skills: Iterable[DetectedSkill], *, by_path: bool = False) -> Choice:
        """Return the suites of skills and agents, and the names of those without one.

        A suite that tests another definition of the same name is not that of a skill which was named `by_path`; a name means
        it all the same.
        """
        chosen, without = list[Chosen](), list[str]()
        for found in skills:
            path = found.eval or self._locator.locate(found)
            namesake = None if path else self._locator.locate_of_namesake(found)
            nearest = path or namesake
            other = self._locator.other_tested(nearest, found) if nearest and (by_path or namesake) else None
            if nearest is None or (by_path and other):
                without.append(found.name)
            else:
                chosen.append(Chosen(nearest, None if other else found.directory, found.name))
            if nearest and other:
                suite, definition = display_path(nearest), display_path(found.definition)
                tests = f"{suite} tests {display_path(other.path)}"
                if by_path:
                    self._refusals[found.name] = (
                        f"{definition} has no {self._eval_file}: {tests}; run that with: "
                        f"waza run {suite}, or change its 'skill:' or 'skill_directories'"
                    )
                else:
                    self.notes.append(f"{tests}, and not {definition}")
        return Choice(chosen, tuple(without))

    def _refuse_two_meanings(self, target: str, found: Choice) -> None:
        """Raise UsageError for a directory with evals of another tool where all suites that it means lie elsewhere."""
        directory = make_absolute(Path(target))
        if any(make_absolute(one.path).is_relative_to(directory) for one in found.suites):
            return
        from waza.cli.import_for_run import recognize_foreign

        if recognize_foreign(Path(target)) is None:
            return
        own = Path(target, "evals") if Path(target, "evals").is_dir() else Path(target)
        suites = ", ".join(_path(one) for one in found.suites)
        raise UsageError(
            f"{target} means two things: evals of its own in {own}, and its skills, which are tested with {suites}; "
            f"name the one that is meant"
        )

    def _refuse(self, target: str) -> Choice:
        raise UsageError(self._nothing(target))

    def _lacks(self, names: Sequence[str]) -> str:
        if refusals := [self._refusals[name] for name in names if name in self._refusals]:
            return "; ".join(refusals)
        places = f"{self._project.keys.paths.evals.rstrip('/')}/<skill>/, or next to SKILL.md"
        return f"no {self._eval_file} found for {', '.join(names)}; put one into {places}{_other(self._here)}"

    def _nothing(self, target: str) -> str:
        """Return that there is nothing of a name, and what there is."""
        names = {found.name for found in find_around(self._project)}
        suites = {path.parent.name for path in self._locator.all()}
        what = f"no skill, agent or suite {target!r}" if target else "no skill or agent"
        known = sorted(names | suites) if target else sorted(names)
        guess = nearest_name(target, known) if target else ""
        if guess:
            advice = f" around here; did you mean {guess!r}?"
        elif known:
            advice = f" around here, only {', '.join(known)}"
        else:
            advice = " around here; name a suite file (waza run path/to/eval.yaml), or use --discover"
        return f"there is {what}{advice}{_other(self._here)}"


def _skills_of(directory: Path) -> list[DetectedSkill]:
    """Return the skill or agents that a directory defines, else all below it."""
    own = [describe_definition(file, directory) for file in list_definitions(directory)]
    return own or detect_below(directory)


def _is_absent(target: str) -> bool:
    """Return whether a target is the path of a file that is not there."""
    return looks_like_path(target) and not is_pattern(target) and not os.path.lexists(target)


def _is_definition_file(path: Path) -> bool:
    return is_definition(path) and os.path.isfile(path)  # noqa: PTH113  # Path.is_file raises for names that are too long


def _path(chosen: Chosen) -> str:
    return display_path(make_absolute(chosen.path))


def _other(here: DirectorySuite | None) -> str:
    """Return what the suite of the current directory is, which is not the one that was asked for."""
    if here is None:
        return ""
    tests = f"is a suite of {here.skill!r}" if here.skill else "is a suite without 'skill:'"
    return f"; {here.path.name} here {tests}, run by its name: waza run {here.path.name}"


def _refuse_missing(without: Iterable[str], *, strict: bool) -> None:
    names = ", ".join(without)
    if strict and names:
        raise UsageError(f"skills without a suite: {names}; nothing was run (--strict)")


def _discover(root: Path, project: Project, say: Write, *, strict: bool) -> Choice:
    if not root.is_dir():
        raise UsageError(f"there is no directory {root} to discover skills in")
    eval_file = project.keys.files.evalFile
    skills = discover_tree(root, eval_file, project.keys.paths.evals)
    say(f"Discovered {pluralize(len(skills), 'skill')} in {root}")
    for found in skills:
        mark = status_mark("passed" if found.eval else "failed")
        place = os.path.relpath(found.eval, found.root) if found.eval else f"no {eval_file}"
        say(f"  {mark} {found.name}: {place}")
    missing = [found.name for found in skills if found.eval is None]
    _refuse_missing(missing, strict=strict)
    chosen = [Chosen(found.eval, found.directory, found.name) for found in skills if found.eval]
    if not chosen:
        raise UsageError(f"no skill below {root} has a suite; put {eval_file} next to SKILL.md")
    return Choice(chosen, tuple(missing))
