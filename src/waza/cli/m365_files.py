"""What `waza m365 validate`, `init` and `upgrade` do."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from waza.cli.streams import print_json, print_line, print_notice, print_problems
from waza.errors import EXIT_ERROR, EXIT_OK, SuiteError, UsageError, WazaError
from waza.kit.decode import format_path
from waza.kit.files import write_atomic
from waza.kit.names import number_names
from waza.kit.text import pluralize
from waza.m365.document.read import EvalDocument, document_from_nodes, find_document, read_nodes
from waza.m365.document.starter import DOCUMENT, starter_files
from waza.m365.document.upgrade import rewrite
from waza.m365.document.upgrade import upgrade as upgraded_from
from waza.m365.document.validate import validate
from waza.m365.evaluators.evaluator_set import EvaluatorSets
from waza.m365.evaluators.resolve import resolve
from waza.m365.evaluators.start import has_errors, start_evaluators
from waza.m365.judges.choose import require_judge
from waza.m365.judges.judge_model import JudgeError
from waza.problem import Problem, display_path
from waza.report.words import FAILED, PASSED


class Checked(msgspec.Struct, frozen=True):
    """What validation says of one file."""

    file: str
    valid: bool
    problems: list[Problem]


def validate_files(files: Sequence[Path], *, evaluators: bool, as_json: bool) -> int:
    """Check documents (none named: the one that is found) and print what is wrong; return the exit code.

    With `evaluators`, those that the documents name are imported as well, as a run would do.
    """
    named = files or [find_document(Path.cwd())]
    checked = asyncio.run(_all_checked(named, EvaluatorSets() if evaluators else None))
    valid = all(one.valid for one in checked)
    if as_json:
        report = {"valid": valid, "documents": checked}
        print_json(report)
    else:
        for one in checked:
            for problem in one.problems:
                print_line(str(problem))
            print_line(_verdict(one))
    return EXIT_OK if valid else EXIT_ERROR


def upgrade_file(file: Path) -> int:
    """Rewrite a document in the current form, if it is not; return the exit code.

    A document that would not be valid then is left as it is. Raises SuiteError, WazaError.
    """
    text, document = read_nodes(file)
    upgraded = upgraded_from(document)
    found = [*upgraded.problems, *(() if upgraded.problems else validate(upgraded.document))]
    mistakes = [problem for problem in found if problem.severity == "error"]
    if mistakes:
        print_problems(mistakes)
        print_notice(f"{pluralize(len(mistakes), 'mistake')}; nothing was changed")
        return EXIT_ERROR
    if not upgraded.changes:
        print_line(f"{display_path(file)} is current; nothing was changed")
        return EXIT_OK
    backup = _backed_up(file)
    write_atomic(file, rewrite(text, upgraded).encode())
    print_line(f"{display_path(file)} was upgraded; as it was before, it is kept in {display_path(backup)}")
    for change in upgraded.changes:
        print_line(
            f"  {format_path(change.path)}: {change.message}" if change.path else f"  {change.message}"
        )
    return EXIT_OK


def write_starter(directory: Path) -> int:
    """Write the files of a new project. Raises UsageError where one of them is there, and writes none."""
    files = starter_files(directory.absolute().name or "evaluation")
    there = [name for name in files if (directory / name).exists()]
    if there:
        raise UsageError(f"{', '.join(there)} in {directory} would be overwritten; nothing was written")
    for name, content in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        with (directory / name).open("x", encoding="utf-8", newline="\n") as file:
            file.write(content)
        print_line(f"{PASSED} {directory / name}")
    where = "" if directory == Path() else f" in {directory}"
    print_line(f"Next{where}: waza m365 run {DOCUMENT} --agent mock")
    return EXIT_OK


async def _all_checked(files: Sequence[Path], evaluator_sets: EvaluatorSets | None) -> list[Checked]:
    try:
        return [await _checked(file, evaluator_sets) for file in files]
    finally:
        if evaluator_sets is not None:
            await evaluator_sets.aclose()


async def _checked(file: Path, evaluator_sets: EvaluatorSets | None) -> Checked:
    try:
        nodes = read_nodes(file)[1]
        problems = validate(nodes)
        if evaluator_sets is not None and not has_errors(problems):
            found = await _of_evaluators(document_from_nodes(nodes, file.stem), evaluator_sets)
            reported = {(problem.line, problem.column) for problem in found}
            problems = [*(one for one in problems if (one.line, one.column) not in reported), *found]
    except SuiteError as error:
        problems = list(error.problems)
    return Checked(display_path(file), not has_errors(problems), problems)


async def _of_evaluators(document: EvalDocument, evaluator_sets: EvaluatorSets) -> list[Problem]:
    """Return what a run would refuse or warn of. A judge is only warned of: a run may name another one."""
    resolved, evaluator_set = resolve(document), evaluator_sets.for_directory(Path.cwd())
    problems = await start_evaluators(document, resolved, evaluator_set)
    used = list(itertools.chain(*resolved.items))
    try:
        if asking := evaluator_set.names_asking_judge(used):
            evaluator_set.check_judge(require_judge(asking, "", os.environ), used)
    except JudgeError as error:
        message = f"a run needs --judge here: {error}"
        problems.append(
            Problem(code="missing-judge", file=document.source.file, message=message, severity="warning")
        )
    return problems


def _verdict(checked: Checked) -> str:
    if checked.valid:
        return f"{PASSED} {checked.file}: valid"
    mistakes = sum(problem.severity == "error" for problem in checked.problems)
    return f"{FAILED} {checked.file}: {pluralize(mistakes, 'mistake')}"


def _backed_up(file: Path) -> Path:
    """Copy a file to `<file>.bak.<time>`, never over another one; return the copy's path."""
    stamp = f"{datetime.now(UTC):%Y%m%d%H%M%S}"
    for name in number_names(f"{file.name}.bak.{stamp}"):
        backup = file.with_name(name)
        try:
            with backup.open("xb") as copy:
                copy.write(file.read_bytes())
        except FileExistsError:
            continue
        except OSError as error:
            raise WazaError(
                f"cannot write {display_path(backup)}: {error.strerror}; nothing was changed"
            ) from error
        return backup
    raise AssertionError  # the counter has no end
