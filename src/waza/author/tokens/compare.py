"""Comparing the tokens of Markdown files between two commits, or a commit and the work tree.

Files below the current directory are compared, as git has them: ignored files are left out, and nothing of a submodule is
looked at. A file that was renamed is compared with what it was called before.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import msgspec

from waza.author.tokens.count import TokenCounter, Tokenizer
from waza.author.tokens.count_report import ESTIMATED
from waza.author.tokens.files import TextSize, decode_text, is_markdown, measure_text
from waza.author.tokens.limits import FileLimits
from waza.errors import UsageError
from waza.kit import git
from waza.kit.moments import write_now
from waza.report.table import table
from waza.report.words import ERROR, FAILED, one_line
from waza.suite.definition import AGENT_SUFFIX, SKILL_FILE

Status = Literal["added", "removed", "modified", "unchanged"]

WORKING = "WORKING"
"""What reports call the work tree."""

_MOST_FILES = 1_000_000
_REGULAR = ("100644", "100755", "")
_SUBMODULE = "160000"
_LFS = b"version https://git-lfs.github.com/spec/"
_ALIKE = 0.5  # share of the text that a renamed file keeps at least
_MOST_RENAMES = 100  # files on either side that are compared with one another
_SKILL_BASES = ("origin/main", "main", "HEAD")  # the first that is there is what skills are compared with


class ComparedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file in both states; None: it is not there. `renamed_from` is its path before.

    `limit` is that of the file as it is now. `exceeded`: it was there before, and grew by more than the threshold.
    """

    file: str
    before: TextSize | None
    after: TextSize | None
    status: Status
    renamed_from: str = ""
    limit: int | None = None
    exceeded: bool = False

    @property
    def diff(self) -> int:
        """How many tokens more there are."""
        return _tokens(self.after) - _tokens(self.before)

    @property
    def percent_change(self) -> float:
        """How many percent more there are."""
        return _percent(_tokens(self.before), _tokens(self.after))

    @property
    def over_limit(self) -> bool:
        """Whether the file has more tokens than it may have."""
        return self.limit is not None and _tokens(self.after) > self.limit

    @property
    def is_changed(self) -> bool:
        """Whether there is something to show: another text or another name."""
        return self.status != "unchanged" or bool(self.renamed_from)

    def to_json(self) -> dict[str, Any]:
        """Return the entry of the JSON document."""
        return {
            "file": self.file,
            "before": msgspec.to_builtins(self.before),
            "after": msgspec.to_builtins(self.after),
            "diff": self.diff,
            "percentChange": round(self.percent_change, 2),
            "status": self.status,
            "limit": self.limit,
            "overLimit": self.over_limit,
            "exceeded": self.exceeded,
            **({"renamedFrom": self.renamed_from} if self.renamed_from else {}),
        }


class CompareOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to compare. `skills`: only files of skills and agents. `threshold` is in percent, or None.

    `strict`: a file that changed and is over its limit is a failure.
    """

    counter: TokenCounter
    skills: bool = False
    threshold: float | None = None
    strict: bool = False


class TokenComparison(msgspec.Struct, frozen=True, kw_only=True):
    """All files in both states, by name; `notes` say what was not looked at. `timestamp` is in UTC."""

    base: str
    head: str
    timestamp: str
    tokenizer: Tokenizer
    threshold: float | None
    strict: bool
    files: tuple[ComparedFile, ...]
    notes: tuple[str, ...] = ()

    @property
    def before(self) -> int:
        """The tokens of all files before."""
        return sum(_tokens(file.before) for file in self.files)

    @property
    def after(self) -> int:
        """The tokens of all files now."""
        return sum(_tokens(file.after) for file in self.files)

    @property
    def percent_change(self) -> float:
        """By how many percent the tokens of all files grew."""
        return _percent(self.before, self.after)

    @property
    def over_limit(self) -> tuple[ComparedFile, ...]:
        """The files that changed and are over their limits."""
        return tuple(file for file in self.files if file.status != "unchanged" and file.over_limit)

    @property
    def exceeded(self) -> tuple[ComparedFile, ...]:
        """The files that grew by more than the threshold."""
        return tuple(file for file in self.files if file.exceeded)

    @property
    def passed(self) -> bool:
        """Whether nothing grew by more than the threshold, and under `strict` nothing that changed is over its limit."""
        return not self.exceeded and not (self.strict and self.over_limit)

    def count(self, status: Status) -> int:
        """Return how many files have a status."""
        return sum(file.status == status for file in self.files)

    def to_json(self, *, unchanged: bool) -> dict[str, Any]:
        """Return the JSON document; `unchanged`: with files that did not change."""
        return {
            "baseRef": self.base,
            "headRef": self.head,
            "tokenizer": self.tokenizer,
            "threshold": self.threshold,
            "passed": self.passed,
            "timestamp": self.timestamp,
            "summary": {
                "totalBefore": self.before,
                "totalAfter": self.after,
                "totalDiff": self.after - self.before,
                "percentChange": round(self.percent_change, 2),
                "filesAdded": self.count("added"),
                "filesRemoved": self.count("removed"),
                "filesModified": self.count("modified"),
                "filesRenamed": sum(bool(file.renamed_from) for file in self.files),
                "filesIncreased": sum(file.diff > 0 for file in self.files),
                "filesDecreased": sum(file.diff < 0 for file in self.files),
                "exceededCount": len(self.exceeded),
                "limitExceeded": bool(self.over_limit),
                "thresholdBreached": bool(self.exceeded),
            },
            "files": [file.to_json() for file in self.files if unchanged or file.is_changed],
        }


class _State(msgspec.Struct, frozen=True):
    """The texts of files by their paths below the directory, and what was left out."""

    texts: dict[str, str]
    notes: list[str]


async def compare_commits(directory: Path, refs: Sequence[str], options: CompareOptions) -> TokenComparison:
    """Compare files below a directory between two commits; with one or none, the work tree is what it is now.

    Without any, the base is HEAD; of skills `origin/main` or `main` where they are there. Raises UsageError for what names
    no commit, and GitError outside of a repository.
    """
    prefix = await git.find_prefix(directory)
    base, commit = await _choose_base(directory, refs, options)
    before = await _read_commit(directory, prefix, commit, options)
    if len(refs) > 1:
        head = refs[1]
        after = await _read_commit(directory, prefix, await _resolve(directory, head), options)
    else:
        head, after = WORKING, await _read_work_tree(directory, options)
    return TokenComparison(
        base=base,
        head=head,
        timestamp=write_now(),
        tokenizer=options.counter.name,
        threshold=options.threshold,
        strict=options.strict,
        files=tuple(_compare(directory, before.texts, after.texts, options)),
        notes=tuple(dict.fromkeys([*before.notes, *after.notes])),
    )


async def _choose_base(directory: Path, refs: Sequence[str], options: CompareOptions) -> tuple[str, str]:
    """Return what the base is called, and its commit."""
    if refs or not options.skills:
        name = refs[0] if refs else "HEAD"
        return name, await _resolve(directory, name)
    for name in _SKILL_BASES[:-1]:
        try:
            return name, await git.rev_parse(directory, name)
        except git.GitError:
            continue
    return _SKILL_BASES[-1], await _resolve(directory, _SKILL_BASES[-1])


async def _resolve(directory: Path, name: str) -> str:
    try:
        return await git.rev_parse(directory, name)
    except git.GitError as error:
        if error.exit_status is None:
            raise
        raise UsageError(
            f"there is no commit {name!r} in this repository; name a hash, a branch or a tag"
        ) from error


async def _read_commit(directory: Path, prefix: str, commit: str, options: CompareOptions) -> _State:
    entries = [
        (entry.name.removeprefix(prefix), entry)
        for entry in await git.list_tree(directory, commit, _MOST_FILES, prefix)
    ]
    notes = [_submodule_note(name) for name, entry in entries if entry.mode == _SUBMODULE]
    chosen = [
        (name, entry) for name, entry in entries if entry.mode in _REGULAR and _is_compared(name, options)
    ]
    contents = await git.read_blobs(directory, [entry.object for _, entry in chosen])
    return _State(
        _decode({name: data for (name, _), data in zip(chosen, contents, strict=True)}, notes), notes
    )


async def _read_work_tree(directory: Path, options: CompareOptions) -> _State:
    listed = await git.list_work_files(directory)
    notes = [
        _submodule_note(file.name.rstrip("/"))
        for file in listed
        if file.mode == _SUBMODULE or file.name.endswith("/")
    ]
    chosen = [file for file in listed if file.mode in _REGULAR and _is_compared(file.name, options)]
    contents: dict[str, bytes] = {}
    for file in chosen:
        path = directory / file.name
        if path.is_file() and not path.is_symlink():
            contents[file.name] = path.read_bytes()
    sparse = [file for file in chosen if file.is_sparse and file.name not in contents]
    for file, data in zip(
        sparse, await git.read_blobs(directory, [one.object for one in sparse]), strict=True
    ):
        contents[file.name] = data
    return _State(_decode(contents, notes), notes)


def _submodule_note(name: str) -> str:
    return f"{_shown(name)} is a repository of its own, which was not looked into"


def _is_compared(name: str, options: CompareOptions) -> bool:
    last = name.rpartition("/")[2]
    return is_markdown(name) and (not options.skills or last == SKILL_FILE or last.endswith(AGENT_SUFFIX))


def _decode(contents: Mapping[str, bytes], notes: list[str]) -> dict[str, str]:
    """Return the texts of files; those that Git LFS keeps elsewhere are left out and noted."""
    elsewhere = [name for name, data in contents.items() if data.startswith(_LFS)]
    notes += [f"{_shown(name)} is kept by Git LFS; a commit has only a pointer to it" for name in elsewhere]
    return {name: decode_text(data)[0] for name, data in contents.items() if name not in elsewhere}


def _compare(
    directory: Path, before: Mapping[str, str], after: Mapping[str, str], options: CompareOptions
) -> Iterator[ComparedFile]:
    renames = find_renames(before, after)
    old_names = {*renames.values()}
    limits = FileLimits(lambda place: _has_skill(place, directory, after))
    for name in sorted({*before, *after} - old_names):
        source = renames.get(name, name)
        old, new = before.get(source), after.get(name)
        limit = None if new is None else limits.of(directory / name, directory).tokens
        file = ComparedFile(
            file=_shown(name),
            before=None if old is None else measure_text(old, options.counter),
            after=None if new is None else measure_text(new, options.counter),
            status=_status(old, new),
            renamed_from=_shown(source) if source != name else "",
            limit=limit,
        )
        yield msgspec.structs.replace(file, exceeded=_grew(file, options.threshold))


def _status(old: str | None, new: str | None) -> Status:
    if old is None:
        return "added"
    if new is None:
        return "removed"
    return "unchanged" if old == new else "modified"


def _grew(file: ComparedFile, threshold: float | None) -> bool:
    return threshold is not None and file.status == "modified" and file.percent_change > threshold + 1e-9


def _has_skill(place: Path, directory: Path, names: Mapping[str, str]) -> bool:
    """Return whether a directory has a SKILL.md: in the state that is compared, outside of it on the disk."""
    if place.is_relative_to(directory):
        return (place.relative_to(directory) / SKILL_FILE).as_posix() in names
    return (place / SKILL_FILE).is_file()


def find_renames(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """Return which files are there under another name: by the new name, the old one.

    Those of one text belong together; of the others, those that have most of their lines in common, if that is half of the
    larger one at least.
    """
    gone, new = [name for name in before if name not in after], [name for name in after if name not in before]
    renames: dict[str, str] = {}
    if max(len(gone), len(new)) <= _MOST_RENAMES:
        pairs = _rate_pairs(before, after, gone, new)
    else:
        pairs = _equal_pairs(before, after, gone, new)
    for _, _, name, source in sorted(pairs):
        if name not in renames and source not in renames.values():
            renames[name] = source
    return renames


_Pair = tuple[
    float, bool, str, str
]  # minus the likeness, whether the last parts of the names differ, new and old name


def _rate_pairs(
    before: Mapping[str, str], after: Mapping[str, str], gone: Iterable[str], new: Iterable[str]
) -> Iterator[_Pair]:
    old_lines = {name: _weigh_lines(before[name]) for name in gone}
    for name in new:
        lines = _weigh_lines(after[name])
        for source, others in old_lines.items():
            larger = max(lines.total(), others.total())
            if not larger or min(lines.total(), others.total()) < _ALIKE * larger:
                continue
            alike = (lines & others).total() / larger
            if alike >= _ALIKE:
                yield -alike, _last(name) != _last(source), name, source


def _equal_pairs(
    before: Mapping[str, str], after: Mapping[str, str], gone: Iterable[str], new: Iterable[str]
) -> Iterator[_Pair]:
    by_text: dict[str, list[str]] = {}
    for source in gone:
        by_text.setdefault(before[source], []).append(source)
    for name in new:
        for source in by_text.get(after[name], ()):
            if after[name]:
                yield -1.0, _last(name) != _last(source), name, source


def _weigh_lines(text: str) -> Counter[str]:
    """Return the lines of a text with the characters that they have in all."""
    weights: Counter[str] = Counter()
    for line in text.splitlines(keepends=True):
        weights[line] += len(line)
    return weights


def _last(name: str) -> str:
    return PurePosixPath(name).name


def _shown(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _tokens(size: TextSize | None) -> int:
    return size.tokens if size else 0


def _percent(before: int, after: int) -> float:
    if before:
        return (after - before) / before * 100
    return 100.0 if after else 0.0


def comparison_lines(found: TokenComparison, width: int, *, unchanged: bool) -> Iterator[str]:
    """Yield the report for people; `unchanged`: with files that did not change."""
    yield f"Tokens: {one_line(found.base)} → {one_line(found.head)}"
    yield ""
    shown = [file for file in found.files if unchanged or file.is_changed]
    if shown:
        rows = [_row(file) for file in shown]
        yield from table(("File", "Before", "After", "Diff", "%", "Status"), rows, width)
        yield ""
    else:
        yield "no Markdown file changed"
    change = f"{found.after - found.before:+,}, {found.percent_change:+.1f} %"
    yield f"Total: {found.before:,} → {found.after:,} ({change})"
    yield ", ".join(
        f"{found.count(status)} {status}" for status in ("added", "removed", "modified", "unchanged")
    )
    for file in found.files:
        if file.renamed_from:
            yield f"{one_line(file.file)} was {one_line(file.renamed_from)}"
    for file in found.over_limit:
        limit = file.limit or 0
        mark = FAILED if found.strict else ERROR
        yield f"{mark} {one_line(file.file)} is over its limit of {limit:,} by {_tokens(file.after) - limit:,}"
    for file in found.exceeded:
        grown = f"grew by {file.percent_change:.1f} %, more than {found.threshold:g} %"
        yield f"{FAILED} {one_line(file.file)} {grown}"
    if found.tokenizer == "estimate":
        yield ESTIMATED


def _row(file: ComparedFile) -> tuple[str, ...]:
    status = f"renamed, {file.status}" if file.renamed_from else file.status
    before, after = ("-" if size is None else f"{size.tokens:,}" for size in (file.before, file.after))
    return file.file, before, after, f"{file.diff:+,}", f"{file.percent_change:+.1f}", status
