"""What `waza suggest` does with its options."""

from __future__ import annotations

from pathlib import Path

import msgspec

from waza.author.improve.ask import NotAskedError
from waza.author.improve.suggest import SuggestRequest, suggest_suite
from waza.author.improve.suggestion import Suggestion, diff_lines, list_conflicts, suggestion_lines
from waza.author.scaffold.new_files import NewFiles
from waza.cli.asking import AskArguments, choose_asker, load_suite_of, print_questions, run_asker
from waza.cli.find_targets import find_one_target
from waza.cli.grader_text import grader_text
from waza.cli.open_project import open_project
from waza.cli.streams import print_json, print_line, print_notice
from waza.errors import EXIT_ERROR, EXIT_OK, UsageError
from waza.kit import yaml
from waza.plugins import list_names
from waza.problem import display_path
from waza.reference import grader_page
from waza.suite.definition import make_absolute
from waza.suite.detect import DetectedSkill
from waza.suite.locate import find_suite_of


class SuggestArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments and options of the command."""

    skill: str
    apply: bool
    force: bool
    count: int
    focus: str
    output_dir: Path | None
    form: str


def run_suggest(given: SuggestArguments, asking: AskArguments) -> int:
    """Ask for a suggestion, print or write it, and return the exit code."""
    project = open_project()
    target = find_one_target(given.skill, "suggest", project)
    suite = load_suite_of(target, asking.executor)
    request = SuggestRequest(
        target=target,
        project=project,
        output_dir=_output_directory(given, target),
        suite=suite,
        count=given.count,
        focus=given.focus,
        grader_types={name: grader_page(name).summary for name in list_names("waza.graders")},
        describe=lambda name: grader_text(grader_page(name)),
    )
    asker = choose_asker(asking, project, suite)
    try:
        found = run_asker(asker, suggest_suite(asker, request))
    except NotAskedError:
        print_questions(asker)
        print_notice("what is asked next depends on the answers")
        return EXIT_OK
    for note in found.notes:
        print_notice(f"warning: {note}")
    if given.apply:
        return _write(found, given)
    return _print(found, given.form)


def _output_directory(given: SuggestArguments, target: DetectedSkill) -> Path:
    suite = find_suite_of(target)
    return make_absolute(given.output_dir or (suite.parent if suite else target.directory / "evals"))


def _print(found: Suggestion, form: str) -> int:
    if form == "json":
        print_json(found.to_json())
    else:
        print_line("\n".join(suggestion_lines(found)))
    for path in list_conflicts(found):
        print_notice(f"warning: {display_path(path)} is there already; --apply needs --force to replace it")
    if _complain(found):
        return EXIT_ERROR
    print_notice("The suggestion is valid; --apply writes it.")
    return EXIT_OK


def _write(found: Suggestion, given: SuggestArguments) -> int:
    if _complain(found):
        print_notice("Error: nothing was written, since the suggestion is not valid")
        return EXIT_ERROR
    taken = list_conflicts(found)
    if taken and not given.force:
        for line in diff_lines(taken, found.files):
            print_notice(line)
        names = ", ".join(map(display_path, taken))
        raise UsageError(f"nothing was written, since {names} would be replaced; allow it with --force")
    files = NewFiles()
    for path, content in found.files.items():
        files.add(path, content)
    files.write(overwrite=given.force)
    written = {
        "output_dir": display_path(found.output_dir),
        "files": [display_path(path) for path in found.files],
    }
    if given.form == "json":
        print_json(written)
    else:
        print_line(yaml.dump(written).rstrip("\n"))
    return EXIT_OK


def _complain(found: Suggestion) -> bool:
    for problem in found.problems:
        print_notice(f"not valid: {problem}")
    return not found.is_valid
