"""Reading results files: ours, and those of other programs that write the same format."""

from __future__ import annotations

import codecs
import json
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from waza.errors import SuiteError
from waza.kit import json_nodes
from waza.kit.share import TOLERANCE
from waza.model.result import SuiteResult, TaskResult
from waza.model.suite import SCHEMA_VERSION
from waza.model.trial import Arm
from waza.problem import Problem, display_path
from waza.results.lenient import Lenient
from waza.results.outcome import Outcome
from waza.results.treatment import check_treatment
from waza.results.verdict import check_verdict
from waza.suite.version import parse_version

_SIGNS = ("eval_id", "runId", "eval_name", "summary", "tasks")
_TOO_DEEP = "is nested too deeply"
_LARGEST = int(sys.float_info.max)  # whole numbers above it are no doubles
_DIGITS = len(str(_LARGEST))
_MOST = 2**53  # figures above it are no exact doubles, and their squares soon are no doubles at all
_MOST_TRIALS = 1_000_000
_BYTE = re.compile(r" \(byte (\d+)\)$")
BASELINE_PLACE = "baseline_outcome."
_AT = re.compile(r"^(.*) - at `\$\.?(.*)`$", re.DOTALL)


def load(path: Path) -> tuple[SuiteResult, list[Problem]]:
    """Return the results in a file, and warnings about it.

    Any 1.x version is read, a missing one counts as the current one; fields that we do not know give one
    warning, which names the first. SuiteError: the file cannot be read, is not JSON in which every key is
    there once and every number is finite, is not a results file or has another major version.
    """
    file = display_path(path)
    data = _parse(read_file(path), file, Any)
    _check_kind(data, file)
    _check_version(data, file)
    lenient = Lenient()
    try:
        result = msgspec.convert(lenient.fit(SuiteResult, data), SuiteResult)
    except msgspec.ValidationError as error:
        _refuse_value(file, str(error))
    except RecursionError:
        _refuse(file, _TOO_DEEP)
    _check_figures(result, file)
    baseline = result.baseline_outcome.tasks if result.baseline_outcome else ()
    result = check_treatment(result, result.tasks, baseline)
    return check_verdict(result, result.tasks, baseline), _warnings(file, lenient.unknown)


def open_results(path: Path) -> tuple[Outcome, list[Problem]]:
    """Return the results in a file, whose tasks are read one at a time, and warnings: as `load`, in less memory.

    Raises SuiteError as `load` does, for a field of a task when that task is asked for; unknown fields of tasks are
    ignored.
    """
    file = display_path(path)
    found = open_parts(read_file(path), file)
    parts = {"main": (found.tasks, ""), "baseline": (found.baseline_tasks, BASELINE_PLACE)}

    def source(arm: Arm, _encoded: bool) -> Iterator[TaskResult]:
        tasks, place = parts[arm]
        return _read_tasks(tasks, file, place)

    return Outcome(found.head, source), found.warnings


class ResultsParts(msgspec.Struct, frozen=True, kw_only=True):
    """A results file in parts: its head without tasks, and the tasks of both arms as they are written."""

    head: SuiteResult
    tasks: list[msgspec.Raw]
    baseline_tasks: list[msgspec.Raw]
    warnings: list[Problem]


def open_parts(data: bytes, file: str, *, checked: bool = True) -> ResultsParts:
    """Return the parts of a results file with this content; `file` is its name in messages.

    Unless it is to be `checked`, duplicate keys are not looked for, which takes most of the time: for files that waza
    wrote itself. Raises SuiteError as `open_results` does.
    """
    lenient = Lenient()
    found = _parse(data, file, dict[str, msgspec.Raw], checked=checked)
    tasks, baseline = found.pop("tasks", None), found.pop("baseline_outcome", None)
    head, raw, endings = _open_head(found, tasks, file, lenient, "")
    others: list[msgspec.Raw] = []
    other_endings: list[_TaskSigns] = []
    if baseline is not None and bytes(baseline) != b"null":
        place = BASELINE_PLACE
        found = _decode_part(baseline, dict[str, msgspec.Raw], file, place[:-1])
        other, others, other_endings = _open_head(found, found.pop("tasks", None), file, lenient, place)
        head = msgspec.structs.replace(head, baseline_outcome=other)
    return ResultsParts(
        head=check_verdict(check_treatment(head, endings, other_endings), endings, other_endings),
        tasks=raw,
        baseline_tasks=others,
        warnings=_warnings(file, lenient.unknown),
    )


def _open_head(
    data: dict[str, msgspec.Raw], tasks: msgspec.Raw | None, file: str, lenient: Lenient, place: str
) -> tuple[SuiteResult, list[msgspec.Raw], list[_TaskSigns]]:
    """Return results without their tasks, the tasks as they are written, and what tells them apart."""
    head = {key: _decode_part(raw, Any, file, place + key) for key, raw in data.items()}
    _check_kind({**head, **({"tasks": []} if tasks is not None else {})}, file)
    _check_version(head, file)
    if tasks is None:
        _refuse_value(file, f"Object missing required field `tasks` - at `$.{place[:-1]}`")
    try:
        result = msgspec.convert(lenient.fit(SuiteResult, {**head, "tasks": []}, place[:-1]), SuiteResult)
    except msgspec.ValidationError as error:
        _refuse_value(file, str(error), place)
    raw = _decode_part(tasks, list[msgspec.Raw] | None, file, f"{place}tasks") or []
    signs = [_decode_part(one, _TaskSigns, file, f"{place}tasks[{i}]") for i, one in enumerate(raw)]
    _check_head(result, file, place)
    _check_ids([one.test_id for one in signs], file, place)
    return result, raw, signs


class _TaskSigns(msgspec.Struct):
    """What is read of all tasks at once."""

    test_id: str
    status: Any = None
    missing_trials: Any = 0
    without_skills: Any = False
    encoded_runs: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"null"), name="runs")

    @property
    def runs(self) -> list[_TrialSigns]:
        """What the trials say of their arm; none where that cannot be read, which reading the task reports."""
        try:
            return msgspec.json.decode(self.encoded_runs, type=list[_TrialSigns] | None) or []
        except msgspec.ValidationError:
            return []


class _TrialSigns(msgspec.Struct):
    """What is read of all trials at once."""

    status: Any = None
    skill_offered: Any = None
    other_skills_offered: Any = None


def _read_tasks(raw: Sequence[msgspec.Raw], file: str, place: str) -> Iterator[TaskResult]:
    for i, one in enumerate(raw):
        yield decode_task(one, file, f"{place}tasks[{i}]")


def decode_task(raw: bytes | msgspec.Raw, file: str, place: str) -> TaskResult:
    """Return a task of a results file; `place` is where it is. Raises SuiteError for a field that does not fit."""
    try:
        task = msgspec.json.decode(raw, type=TaskResult)
    except msgspec.ValidationError:  # of another program
        value = Lenient().fit(TaskResult, _decode_part(raw, Any, file, place))
        try:
            task = msgspec.convert(value, TaskResult)
        except msgspec.ValidationError as error:
            _refuse_value(file, str(error), f"{place}.")
    _check_task(task, file, f"{place}.")
    return task


def _decode_part(raw: bytes | msgspec.Raw, kind: Any, file: str, place: str) -> Any:
    """Return a part of a document that is valid JSON."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        _refuse_value(file, str(error), f"{place}.")
    except RecursionError:
        _refuse(file, _TOO_DEEP)


def is_results_file(path: Path) -> bool:
    """Tell whether a JSON file has results, without reading all of them.

    One that cannot be read counts as well: `load` says what is wrong with it.
    """
    try:
        return holds_results(path.read_bytes()) is not False
    except OSError:
        return True


def holds_results(data: bytes) -> bool | None:
    """Tell whether a JSON file with this content has results; None: it cannot be read."""
    try:
        found = msgspec.json.decode(data.removeprefix(codecs.BOM_UTF8), type=_Signs)
    except msgspec.ValidationError:
        return False  # JSON, but not an object
    except (msgspec.DecodeError, RecursionError):
        return None
    return bool(found.summary and found.tasks)


class _Signs(msgspec.Struct):
    """What every results file has, left as it is written."""

    summary: msgspec.Raw = msgspec.Raw()
    tasks: msgspec.Raw = msgspec.Raw()


def read_file(path: Path) -> bytes:
    """Return the content of a file. Raises SuiteError with what to do where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        _refuse(
            display_path(path),
            f"cannot be read: {error.strerror or error}",
            hint="give the path of a results file",
        )


def _parse(data: bytes, file: str, kind: Any, *, checked: bool = True) -> Any:
    """Return the JSON in a file as a value of a kind."""
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode()
        found = msgspec.json.decode(text, type=kind)
        if checked:
            _check_keys(text, file)
    except UnicodeDecodeError as error:
        _refuse_at(file, data[: error.start], "is not UTF-8 text")
    except msgspec.ValidationError as error:
        _refuse_place(text, file)  # of a number that is no double; the decoder tells no place
        _refuse_value(file, str(error))
    except msgspec.DecodeError as error:
        why = _BYTE.sub("", str(error)).removeprefix("JSON is malformed: ")
        _refuse_at(file, data[: _good_bytes(str(error), len(data))], f"is not valid JSON: {why}")
    except RecursionError:
        _refuse(file, _TOO_DEEP)
    return found


def _check_keys(text: str, file: str) -> None:
    """Refuse duplicate keys, of which readers take one or the other, and whole numbers that are no doubles.

    Nothing of the text is kept. Only where a key is a duplicate is it read again, to find its place.
    """

    def check(pairs: list[tuple[str, Any]]) -> None:
        if len({key for key, _ in pairs}) != len(pairs):
            raise _DuplicateKeyError

    def whole(digits: str) -> int:
        if len(digits) > _DIGITS + 1 or abs(number := int(digits)) > _LARGEST:
            _refuse_place(text, file)
            _refuse(file, f"holds a number that is too large: {digits[:20]}...")
        return number

    try:
        json.loads(text, object_pairs_hook=check, parse_int=whole)
    except _DuplicateKeyError:
        pass
    else:
        return
    _refuse_place(text, file)


def _refuse_place(text: str, file: str) -> None:
    """Refuse a text that a slower reader, which knows lines and columns, finds at fault."""
    try:
        json_nodes.load(text.encode())
    except json_nodes.JsonError as error:
        raise SuiteError([error.in_file(file)]) from None


class _DuplicateKeyError(Exception):
    """A key is in its object for the second time."""


def _good_bytes(message: str, size: int) -> int:
    """Return how many bytes come before the fault that the decoder reports; all if it found the end."""
    found = _BYTE.search(message)
    if found is None:
        return size
    after = 1 if "trailing" in message else 0  # there the decoder has gone one byte further
    return int(found[1]) - after


def _check_kind(data: Any, file: str) -> None:
    kind = data.get("kind") if isinstance(data, dict) else None
    if isinstance(kind, str) and (kind == "waza.preflight" or kind.startswith("waza.release-")):
        _refuse(file, f"is a {kind} report, not a results file", hint="write one with `waza run -o FILE`")
    if not isinstance(data, dict) or not any(sign in data for sign in _SIGNS):
        if isinstance(data, dict) and ("items" in data or "prompts" in data):
            again = f"waza m365 run {shlex.quote(file)} --agent recorded"
            _refuse(file, "is an evaluation document", hint=f"`{again}` judges recorded responses again")
        _refuse(file, "is not a results file", hint="write one with `waza run -o FILE`")


def _check_version(data: dict[str, Any], file: str) -> None:
    """Refuse other major versions; fill a missing version in."""
    declared = data.get("schemaVersion")
    if declared is None or (isinstance(declared, str) and not declared.strip()):
        data["schemaVersion"] = SCHEMA_VERSION
        return
    if not isinstance(declared, str):
        _refuse(file, "must be a text such as '1.4'", "schemaVersion", "put quotes around it")
    try:
        major, _ = parse_version(declared)
    except ValueError as error:
        _refuse(file, str(error), "schemaVersion")
    if major != parse_version(SCHEMA_VERSION)[0]:
        message = f"version {declared} is not readable here, which reads 1.x ({SCHEMA_VERSION})"
        _refuse(file, message, "schemaVersion", "use the version of waza that wrote it")


def _check_figures(result: SuiteResult, file: str) -> None:
    """Refuse what would make a comparison wrong: figures out of range, and two tasks of one id."""
    for place, one in (("", result), ("baseline_outcome.", result.baseline_outcome)):
        if one is None:
            continue
        _check_head(one, file, place)
        _check_ids([task.test_id for task in one.tasks], file, place)
        for i, task in enumerate(one.tasks):
            _check_task(task, file, f"{place}tasks[{i}].")


def _check_head(head: SuiteResult, file: str, place: str) -> None:
    _check_range(head.summary.success_rate, 0, 1, file, f"{place}summary.success_rate")
    _check_range(head.config.runs_per_test, 0, _MOST_TRIALS, file, f"{place}config.runs_per_test")


def _check_task(task: TaskResult, file: str, place: str) -> None:
    """Refuse figures of trials out of range, and two trials of one number: one that is there twice would count twice."""
    _check_range(task.missing_trials, 0, _MOST_TRIALS, file, f"{place}missing_trials")
    first: dict[int, int] = {}
    for i, run in enumerate(task.runs):
        at = f"{place}runs[{i}]."
        if first.setdefault(run.run_number, i) != i:
            message = f"{run.run_number} is also the number of runs[{first[run.run_number]}]"
            _refuse(file, message, f"{at}run_number")
        _check_range(run.duration_ms, -_MOST, _MOST, file, f"{at}duration_ms")
        if usage := run.session_digest.usage:
            _check_range(usage.input_tokens, -_MOST, _MOST, file, f"{at}session_digest.usage.input_tokens")
            _check_range(usage.output_tokens, -_MOST, _MOST, file, f"{at}session_digest.usage.output_tokens")
        for name, verdict in (run.validations or {}).items():
            _check_range(verdict.score, 0, 1, file, f"{at}validations.{name}.score")


def _check_range(value: float, least: int, most: int, file: str, place: str) -> None:
    if not least - TOLERANCE <= value <= most + TOLERANCE:
        _refuse(file, f"is {value:g}, but must be from {least} to {most}", place)


def _check_ids(ids: Sequence[str], file: str, place: str) -> None:
    first: dict[str, int] = {}
    for number, one in enumerate(ids):
        if first.setdefault(one, number) != number:
            message = f"{one!r} is also the id of tasks[{first[one]}]"
            _refuse(file, message, f"{place}tasks[{number}].test_id")


def _warnings(file: str, unknown: str) -> list[Problem]:
    if not unknown:
        return []
    hint = "a newer waza may have written it; further ones are not listed"
    return [
        Problem(
            code="unknown-key",
            file=file,
            path=unknown,
            message="unknown field, ignored",
            hint=hint,
            severity="warning",
        )
    ]


def _refuse_value(file: str, message: str, place: str = "") -> NoReturn:
    """Refuse a value; `place` ends with a dot, and is before what the message says of its place."""
    found = _AT.match(message)
    _refuse(file, found[1] if found else message, (place + (found[2] if found else "")).removesuffix("."))


def _refuse_at(file: str, before: bytes, message: str) -> NoReturn:
    """Refuse the file for what comes after the given bytes."""
    line = before.count(b"\n") + 1
    column = len(before[before.rfind(b"\n") + 1 :].decode(errors="replace")) + 1
    raise SuiteError([Problem(code="syntax", file=file, line=line, column=column, message=message)])


def _refuse(file: str, message: str, path: str = "", hint: str = "") -> NoReturn:
    raise SuiteError([Problem(code="invalid-value", file=file, path=path, message=message, hint=hint)])
