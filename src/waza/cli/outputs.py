"""The files that `waza run` writes: results, reports, transcripts; and how they are named."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from waza.errors import UsageError
from waza.kit.files import write_atomic
from waza.report import junit, markdown
from waza.results.outcome import Outcome
from waza.results.write import encode

JSON = "json"
_LONGEST = 100  # bytes of a name in a file name; file systems allow 255 for the whole
_SUMMARY = "_summary"
_UNFIT = re.compile(r"""[/\\: <>"|?*\x00-\x1f\x7f]""")  # what some system forbids in file names, and blanks


class Reporter(msgspec.Struct, frozen=True):
    """A report to write; without a path to standard output."""

    kind: str
    path: Path | None = None


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """One outcome of a command, with what names its files."""

    skill: str
    outcome: Outcome
    passed: bool


def parse_reporter(text: str) -> Reporter:
    """Read a `--reporter` value. Raises UsageError for an unknown one, or one that needs a path."""
    kind, _, path = text.partition(":")
    if kind not in (JSON, "junit", "markdown"):
        raise UsageError(f"there is no reporter {kind!r}; use json, json:PATH, junit:PATH or markdown:PATH")
    if not path and kind != JSON:
        raise UsageError(f"the reporter {kind} needs a file: {kind}:PATH")
    return Reporter(kind, Path(path) if path else None)


def check_target(path: Path, inputs: Sequence[Path]) -> None:
    """Raise UsageError, before anything is run, for a file that cannot be written or is an input of the run."""
    if str(path) == "-":
        raise UsageError("'-' is no file; --json writes results to standard output")
    if path.is_dir():
        raise UsageError(f"{path} is a directory; name a file for the results")
    if any(path.exists() and source.exists() and path.samefile(source) for source in inputs):
        raise UsageError(f"{path} is what is to be run; name another file for the results")


def segment(name: str) -> str:
    """Return a name as a part of a file name, which leads nowhere else and is not too long."""
    clean = _UNFIT.sub("-", name)
    if not clean.strip("."):
        clean = "-" * len(clean)
    return clean.encode("utf-8", "replace")[:_LONGEST].decode("utf-8", "ignore") or "default"


def suffixes(done: Sequence[Done]) -> list[str]:
    """Return what is added to a file's stem for each outcome: skill and model, where there are several.

    Names that become equal once they are fit for files get a number, so that no file is lost.
    """
    several_skills = len({one.skill for one in done}) > 1
    several_models = len({one.outcome.head.config.model_id for one in done}) > 1
    taken = {_SUMMARY}
    found: list[str] = []
    for one in done:
        parts = [segment(one.skill)] if several_skills else []
        parts += [segment(one.outcome.head.config.model_id)] if several_models else []
        found.append(_unused("".join(f"_{part}" for part in parts), taken))
    return found


def _unused(name: str, taken: set[str]) -> str:
    """Return the name, with a number behind it where it is taken; case makes no difference in many systems."""
    unique, number = name, 2
    while unique.casefold() in taken:
        unique, number = f"{name}-{number}", number + 1
    taken.add(unique.casefold())
    return unique


def named(path: Path, suffix: str) -> Path:
    """Return the path with a suffix behind its stem."""
    return path.with_name(f"{path.stem}{suffix}{path.suffix}") if suffix else path


def write_results(path: Path, done: Sequence[Done], *, summary: bool) -> list[Path]:
    """Write a results file for each outcome, and a summary over several skills; return the paths."""
    written = [named(path, suffix) for suffix in suffixes(done)]
    for target, one in zip(written, done, strict=True):
        write_atomic(target, encode(one.outcome))
    if summary and len({one.skill for one in done}) > 1:
        target = named(path, _SUMMARY)
        names = [file.name for file in written]
        write_atomic(target, _pretty(_summary(done, names)))
        written.append(target)
    return written


def write_tree(directory: Path, done: Sequence[Done], now: datetime) -> list[Path]:
    """Write the results files into a new folder of this run, by skill where there are several."""
    folder = _new_folder(directory, now)
    several_skills = len({one.skill for one in done}) > 1
    written, taken = list[Path](), set[str]()
    for one in done:
        parts = [segment(one.skill)] if several_skills else []
        name = _unused("/".join([*parts, segment(one.outcome.head.config.model_id)]), taken)
        written.append(folder / f"{name}.json")
        write_atomic(written[-1], encode(one.outcome))
    return written


def _new_folder(directory: Path, now: datetime) -> Path:
    """Make the folder of a run, named by its time; another run of the same moment gets its own."""
    moment = now.astimezone(UTC)
    stamp = f"{moment:%Y-%m-%dT%H%M%S}.{moment.microsecond // 1000:03d}"
    number, folder = 2, directory / stamp
    while True:
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            folder, number = directory / f"{stamp}-{number}", number + 1
        else:
            return folder


def write_reports(reporters: Sequence[Reporter], done: Sequence[Done]) -> list[Path]:
    """Write the reports that go to files, one a model where there are several; return the paths."""
    written = []
    for reporter in reporters:
        if reporter.path is None:
            continue
        for suffix, one in zip(suffixes(done), done, strict=True):
            target = named(reporter.path, suffix)
            write_atomic(target, _document(reporter.kind, one.outcome))
            written.append(target)
    return written


def json_documents(done: Sequence[Done]) -> Iterator[bytes]:
    """Yield what `--json` prints: the results file, or a list of them where there are several."""
    if len(done) == 1:
        yield from encode(done[0].outcome)
        yield b"\n"
        return
    for i, one in enumerate(done):
        yield b"[\n" if i == 0 else b",\n"
        yield from encode(one.outcome)
    yield b"\n]\n"


def _document(kind: str, outcome: Outcome) -> bytes | Iterator[bytes]:
    makers: dict[str, Callable[[Outcome], bytes | Iterator[bytes]]] = {
        JSON: encode,
        "junit": junit.document,
        "markdown": lambda one: markdown.document(one).encode("utf-8", "replace"),
    }
    return makers[kind](outcome)


def _summary(done: Sequence[Done], names: Sequence[str]) -> dict[str, Any]:
    skills: list[dict[str, Any]] = []
    for skill in dict.fromkeys(one.skill for one in done):
        own = [(one.outcome.head, name) for one, name in zip(done, names, strict=True) if one.skill == skill]
        total = sum(head.summary.total_tests for head, _ in own)
        skills.append(
            {
                "skill_name": skill,
                "models": [head.config.model_id for head, _ in own],
                "pass_rate": sum(head.summary.succeeded for head, _ in own) / total if total else 0,
                "aggregate_score": sum(head.summary.aggregate_score for head, _ in own) / len(own),
                "output_files": [name for _, name in own],
            }
        )
    return {
        "timestamp": datetime.now().astimezone().isoformat(),
        "skills": skills,
        "overall": {
            "total_skills": len(skills),
            "total_models": len({one.outcome.head.config.model_id for one in done}),
            "avg_pass_rate": sum(one["pass_rate"] for one in skills) / len(skills),
            "avg_aggregate_score": sum(one["aggregate_score"] for one in skills) / len(skills),
        },
    }


def _pretty(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2)
