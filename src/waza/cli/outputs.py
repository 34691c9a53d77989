"""The files that `waza run` writes: results, reports, transcripts; and how they are named."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from waza import plugins
from waza.errors import UsageError, WazaError
from waza.kit import stats
from waza.kit.exception_report import describe_exception
from waza.kit.files import write_atomic
from waza.kit.indented_json import indented_json
from waza.kit.names import number_names
from waza.report.reporter import Reporter
from waza.report.view import InvocationView
from waza.results.absent import not_started_outcome
from waza.results.invocation import INVOCATION, InvocationResults, LeftOut
from waza.results.outcome import Outcome
from waza.results.selection import SELECTION
from waza.results.verdict import NotStarted
from waza.results.write import encode

JSON = "json"
REPORTERS = "waza.reporters"
_LONGEST = 100  # bytes of a name in a file name; file systems allow 255 for the whole
_SUMMARY = "_summary"
_UNFIT = re.compile(r"""[/\\: <>"|?*\x00-\x1f\x7f]""")  # what some system forbids in file names, and blanks
# What people may expect of a results file by its name, and where they get it.
_NOT_JSON = {
    ".html": "`waza report` makes HTML of them",
    ".htm": "`waza report` makes HTML of them",
    ".xml": "use --reporter junit:FILE",
    ".md": "use --reporter markdown:FILE",
    ".csv": "there is no CSV report of suites",
}


class ReporterOption(msgspec.Struct, frozen=True):
    """A `--reporter` option: the name, and the file that is written; without a path the report is printed.

    `folder`: the path is that of a directory, which gets a file for each suite and model.
    """

    name: str
    path: Path | None = None
    folder: bool = False


class SkillOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """One outcome of a command, with what names its files."""

    skill: str
    outcome: Outcome

    @property
    def passed(self) -> bool:
        """Whether it passed."""
        return self.outcome.verdict.passed

    @property
    def key(self) -> tuple[str, str | None]:
        """The skill and the model."""
        return self.skill, self.outcome.head.config.model_id


class CommandResults(msgspec.Struct, frozen=True, kw_only=True):
    """All that a command did, and what it was to do and did not."""

    done: tuple[SkillOutcome, ...]
    not_started: tuple[NotStarted, ...] = ()
    without_suite: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    @property
    def invocation(self) -> InvocationResults:
        """The outcomes for reports that show all of them."""
        return InvocationResults(
            outcomes=tuple(one.outcome for one in self.done),
            skills=tuple(one.skill for one in self.done),
            not_started=self.not_started,
            without_suite=self.without_suite,
            left_out=self.left_out,
        )

    @property
    def parts(self) -> list[InvocationResults]:
        """The same in pieces, for reports with a file each."""
        return [
            *(InvocationResults(outcomes=(one.outcome,), skills=(one.skill,)) for one in self.done),
            *(InvocationResults(outcomes=(), not_started=(one,)) for one in self.not_started),
            *(InvocationResults(outcomes=(), without_suite=(name,)) for name in self.without_suite),
            *(InvocationResults(outcomes=(), left_out=(one,)) for one in self.left_out),
        ]

    @property
    def all(self) -> list[SkillOutcome]:
        """Each outcome, then one for each that did not start: the same files, whatever happened."""
        return [
            *self.done,
            *(SkillOutcome(skill=one.skill, outcome=not_started_outcome(one)) for one in self.not_started),
        ]

    @property
    def keys(self) -> list[tuple[str, str | None]]:
        """The skill and the model of each results file; the model of a suite that could not be read is not known."""
        not_started_outcome = ((one.skill, None if one.unread else one.model) for one in self.not_started)
        return [*(one.key for one in self.done), *not_started_outcome]

    def document(self, one: SkillOutcome) -> Iterator[bytes]:
        """Yield the results file of an outcome: the results of its run, and the verdict of the invocation in its metadata."""
        metadata = {**one.outcome.head.metadata, INVOCATION: self.invocation.as_metadata()}
        head = msgspec.structs.replace(one.outcome.head, metadata=metadata)
        return encode(msgspec.structs.replace(one.outcome, head=head))


def parse_reporter(text: str) -> ReporterOption:
    """Return what a `--reporter` option means. Raises UsageError for an unknown name, or if a file is missing."""
    name, _, path = text.partition(":")
    if not path and name != JSON and _reporter_class(name).needs_file:
        raise UsageError(f"the reporter {name} needs a file: {name}:PATH")
    if not path:
        return ReporterOption(name)
    if name != JSON:
        _reporter_class(name)
    return ReporterOption(name, Path(path), folder=path.endswith("/") or Path(path).is_dir())


def _reporter_class(name: str) -> type[Reporter]:
    kind = plugins.load_class(REPORTERS, name)
    if kind is None:
        *others, last = (JSON, *(f"{known}:PATH" for known in [JSON, *plugins.list_names(REPORTERS)]))
        raise UsageError(
            f"there is no reporter {name!r}; use {', '.join(others)} or {last}, or install the package that brings it"
        )
    return kind  # type: ignore[no-any-return]  # plugins are typed by their group


def make_report(name: str, results: InvocationResults) -> str | bytes:
    """Return the document of a reporter. WazaError: the reporter raised something, or returned no document."""
    try:
        document = _reporter_class(name)().report(results)
    except Exception as error:
        raise WazaError(f"the reporter {name} broke: {describe_exception(error).text}") from error
    if not isinstance(document, str | bytes):
        kind = type(document).__name__
        raise WazaError(f"the reporter {name} returned {kind}; it must return str or bytes")
    return document


def _encoded(document: str | bytes) -> bytes:
    return document if isinstance(document, bytes) else document.encode("utf-8", "replace")


def check_output(path: Path, inputs: Sequence[Path]) -> None:
    """Raise UsageError, before anything is run, for a results file that cannot be written or would mislead."""
    if str(path) == "-":
        raise UsageError("'-' is not a file; --json writes results to standard output")
    instead = _NOT_JSON.get(path.suffix.lower())
    if instead:
        raise UsageError(f"{path}: results are written as JSON; {instead}, or name a .json file")
    check_target(path, inputs)


def is_html(path: Path) -> bool:
    """Tell whether `-o` of a run means its report as HTML instead of its results."""
    return path.suffix.lower() in (".html", ".htm")


def check_target(path: Path, inputs: Sequence[Path]) -> None:
    """Raise UsageError, before anything is run, for a directory and for a file that is an input of the run."""
    if path.is_dir():
        raise UsageError(f"{path} is a directory; name a file for the results")
    if any(path.exists() and source.exists() and path.samefile(source) for source in inputs):
        raise UsageError(f"{path} is what is to be run; name another file for the results")


def check_distinct(outputs: Sequence[Path], reporters: Sequence[ReporterOption]) -> None:
    """Raise UsageError where two files that were asked for are one, so that one would be lost."""
    taken = set[Path]()
    for path in _files(outputs, reporters):
        if path.resolve() in taken:
            raise UsageError(
                f"{path} is named by two options and would hold only one of both; name two files"
            )
        taken.add(path.resolve())


def existing_outputs(outputs: Sequence[Path], reporters: Sequence[ReporterOption]) -> list[Path]:
    """Return the files that were asked for and exist before anything is written."""
    return [path for path in _files(outputs, reporters) if path.exists()]


def _files(outputs: Sequence[Path], reporters: Sequence[ReporterOption]) -> list[Path]:
    return [*outputs, *(one.path for one in reporters if one.path is not None and not one.folder)]


def file_name_part(name: str) -> str:
    """Return a name as a part of a file name, which leads nowhere else and is not too long."""
    clean = _UNFIT.sub("-", name)
    if not clean.strip("."):
        clean = "-" * len(clean)
    return clean.encode("utf-8", "replace")[:_LONGEST].decode("utf-8", "ignore") or "default"


def make_suffixes(keys: Sequence[tuple[str, str | None]]) -> list[str]:
    """Return what is added to a file's stem for each skill and model: both, where there are several.

    Names that become equal once they are fit for files get a number, so that no file is lost.
    """
    several_skills = len({skill for skill, _ in keys}) > 1
    several_models = len({model for _, model in keys if model is not None}) > 1
    taken = {_SUMMARY}
    found: list[str] = []
    for skill, model in keys:
        parts = [file_name_part(skill)] if several_skills else []
        parts += [file_name_part(model or "")] if several_models else []
        found.append(_unused("".join(f"_{part}" for part in parts), taken))
    return found


def _unused(name: str, taken: set[str]) -> str:
    """Return the name, with a number behind it where it is taken; case makes no difference in many systems."""
    unique = next(one for one in number_names(name) if one.casefold() not in taken)
    taken.add(unique.casefold())
    return unique


def add_suffix(path: Path, suffix: str) -> Path:
    """Return the path with a suffix behind its stem."""
    return path.with_name(f"{path.stem}{suffix}{path.suffix}") if suffix else path


def write_results(path: Path, results: CommandResults, *, summary: bool) -> list[Path]:
    """Write a results file for each outcome, and a summary over several skills; return the paths.

    What did not start has one, too: a file of an earlier run in its place would be taken for that of this one.
    """
    written = [add_suffix(path, suffix) for suffix in make_suffixes(results.keys)]
    for target, one in zip(written, results.all, strict=True):
        write_atomic(target, results.document(one))
    if summary and len({skill for skill, _ in results.keys}) > 1:
        target = add_suffix(path, _SUMMARY)
        names = [file.name for file in written[: len(results.done)]]
        write_atomic(target, indented_json(_summary(results, names)))
        written.append(target)
    return written


def write_tree(directory: Path, results: CommandResults, now: datetime) -> list[Path]:
    """Write the results files into a new folder of this run, by skill where there are several."""
    folder = _new_folder(directory, now)
    several_skills = len({skill for skill, _ in results.keys}) > 1
    written, taken = list[Path](), set[str]()
    for one in results.all:
        parts = [file_name_part(one.skill)] if several_skills else []
        name = _unused("/".join([*parts, file_name_part(one.outcome.head.config.model_id)]), taken)
        written.append(folder / f"{name}.json")
        write_atomic(written[-1], results.document(one))
    return written


def _new_folder(directory: Path, now: datetime) -> Path:
    """Make the folder of a run, named by its time; another run of the same moment gets its own."""
    moment = now.astimezone(UTC)
    stamp = f"{moment:%Y-%m-%dT%H%M%S}.{moment.microsecond // 1000:03d}"
    for name in number_names(stamp):
        with contextlib.suppress(FileExistsError):
            (directory / name).mkdir(parents=True)
            return directory / name
    raise AssertionError  # the names have no end


def write_report(reporter: ReporterOption, results: CommandResults) -> list[Path]:
    """Write a report that goes to files; return the paths.

    JSON is one file for each suite and model, any other report one file; in a directory all of them are a file each.
    What did not start is among them.
    """
    if reporter.path is None:
        return []
    if reporter.folder:
        return _write_folder(reporter.name, reporter.path, results)
    if reporter.name == JSON:
        return write_results(reporter.path, results, summary=False)
    write_atomic(reporter.path, _encoded(make_report(reporter.name, results.invocation)))
    return [reporter.path]


def _write_folder(name: str, folder: Path, results: CommandResults) -> list[Path]:
    documents: list[Iterator[bytes] | bytes]
    if name == JSON:
        keys, extension = results.keys, ".json"
        documents = [results.document(one) for one in results.all]
    else:
        not_run = [*results.without_suite, *(one.skill for one in results.left_out)]
        keys = [*results.keys, *((skill, None) for skill in not_run)]
        extension = _reporter_class(name).extension
        documents = [_encoded(make_report(name, part)) for part in results.parts]
    taken = set[str]()
    names = [
        _unused(f"{file_name_part(skill)}_{file_name_part(model or '')}", taken) for skill, model in keys
    ]
    paths = [folder / f"{stem}{extension}" for stem in names]
    for path, document in zip(paths, documents, strict=True):
        write_atomic(path, document)
    return paths


def json_documents(results: CommandResults) -> Iterator[bytes]:
    """Yield what `--json` prints: the results file, or a list of them where there are several."""
    if len(results.keys) == 1:
        yield from results.document(results.all[0])
        yield b"\n"
        return
    yield b"["
    for i, one in enumerate(results.all):
        yield b",\n" if i else b"\n"
        yield from results.document(one)
    yield b"\n]\n"


def _summary(results: CommandResults, names: Sequence[str]) -> dict[str, Any]:
    lines = InvocationView(results.invocation).skills
    by_skill: dict[str, list[str]] = {}
    selections: dict[str, dict[str, Any]] = {}
    for one, name in zip(results.done, names, strict=True):
        by_skill.setdefault(one.skill, []).append(name)
        if SELECTION in one.outcome.head.metadata:  # the same on all models
            selections[one.skill] = {SELECTION: one.outcome.head.metadata[SELECTION]}
    skills = [
        {
            "skill_name": line.skill,
            "models": line.models,
            "pass_rate": line.success_rate,
            "aggregate_score": line.score,
            "output_files": by_skill[line.skill],
            **selections.get(line.skill, {}),
        }
        for line in lines
    ]
    return {
        "timestamp": datetime.now().astimezone().isoformat(),
        "skills": skills,
        "overall": {
            "total_skills": len(skills),
            "total_models": len({one.outcome.head.config.model_id for one in results.done}),
            "avg_pass_rate": stats.mean([line.success_rate for line in lines]),
            "avg_aggregate_score": stats.mean([line.score for line in lines]),
        },
        **results.invocation.as_metadata(),
    }
