"""Cassettes: the requests of one attempt with their answers, in a file that replays it without a model.

A file of lines of JSON: a `CassetteHeader`, then a `RecordedExchange` for each request in the order in which the answers ended. Requests
are scrubbed and redacted, answers are redacted.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from waza.errors import ExecutorError, WazaError
from waza.wire.api import WireApi
from waza.wire.exchange import Ending, Exchange
from waza.wire.read_answer import read_answer
from waza.wire.scrub import Scrubber, first_difference

FORM, VERSION = "waza.cassette", 1
SUFFIX = ".cassette.ndjson"
MOST_CASSETTE = 64 * 1024 * 1024
"""Bytes of a cassette; what comes behind is left out, and it cannot be replayed."""
_CUT = b'{"cut":true}'  # the last line of one that grew too large
_KEPT = ("content-type", "retry-after")  # headers of answers
_NAME = re.compile(r"[^A-Za-z0-9_-]+")


class CassettePlace(msgspec.Struct, frozen=True, kw_only=True):
    """Whose requests a cassette has."""

    arm: str
    """The arm of the run; `judges`: those of all judges and responders."""
    task: str = ""
    """The id of the task; `trigger` for prompts of trigger tests."""
    trial: int = 0
    """The number of the trial, or of the prompt."""
    session: int = 1
    """Counts the attempts of the trial, those that were made again after an error among them."""

    @property
    def filename(self) -> str:
        """The name of its file."""
        digest = hashlib.sha256(f"{self.arm}\0{self.task}".encode("utf-8", "replace")).hexdigest()[:8]
        name = _NAME.sub("-", f"{self.arm}-{self.task}")[:60].strip("-")
        return f"{name}-{digest}-{self.trial}-{self.session}{SUFFIX}"

    def __str__(self) -> str:
        if self.arm == JUDGES.arm:
            return "judges and responders"
        arm = " without skills" if self.arm == "baseline" else ""
        again = f", attempt {self.session}" if self.session > 1 else ""
        return f"{self.task} {self.trial}{arm}{again}"


JUDGES = CassettePlace(arm="judges")


class Interface(msgspec.Struct, frozen=True, kw_only=True):
    """The model server that a run asked, as its agents were told of it; of its address only the host."""

    type: str = ""
    wire_api: str = ""
    host: str = ""


class CassetteHeader(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The first line of a cassette: what it belongs to."""

    form: str
    """`waza.cassette`."""
    version: int
    """The version of the form."""
    run: str
    """The id of the run."""
    suite: str
    """The name of the suite."""
    digest: str
    """The digest of the suite, whatever its wire."""
    executor: str
    """The executor."""
    model: str
    """The model that the run asked for."""
    place: CassettePlace
    """Whose requests it has."""
    interface: Interface | None = None
    """The model server of the project; left out where agents find theirs by the environment."""
    skill: str = ""
    """The name of the skill under test."""
    skill_digest: str = ""
    """The digest of its description and text."""


class RecordedExchange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request, and what was answered."""

    number: int
    """Its number in the attempt, from 1."""
    api: str
    """The interface."""
    agent: str = ""
    """What the agent calls itself (`User-Agent`)."""
    request: dict[str, Any]
    """The request, scrubbed and redacted."""
    status: int = 0
    """The HTTP status; 0: there was no answer."""
    headers: dict[str, str] = {}
    """Headers of the answer that matter."""
    answer: str = ""
    """The answer, redacted."""
    answer_base64: str = ""
    """The same where it is no UTF-8."""
    withheld: str = ""
    """Why the answer is not here."""
    ending: Ending = "whole"
    """How it ended."""
    note: str = ""
    """What the wire did, or why there is no answer."""

    @property
    def body(self) -> bytes:
        """The bytes of the answer."""
        return base64.b64decode(self.answer_base64) if self.answer_base64 else self.answer.encode()


class Redacts(Protocol):
    """What takes secrets out, as `waza.kit.redact.Redactor` does."""

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        ...

    def value(self, value: Any) -> Any:
        """Return JSON-like data without secrets."""
        ...


class Cassette(msgspec.Struct, frozen=True):
    """A cassette that was read. `cut`: it grew too large, and its end is missing."""

    header: CassetteHeader
    exchanges: list[RecordedExchange]
    cut: bool = False


class CassetteRecorder:
    """Writes the cassette of an attempt, exchange by exchange. It is in its place once it is closed."""

    def __init__(
        self, directory: Path, header: CassetteHeader, scrubber: Scrubber, redactor: Redacts
    ) -> None:
        self._path = directory / header.place.filename
        self._part = self._path.with_name(f"{self._path.name}.part")
        self._scrubber, self._redactor = scrubber, redactor
        self._size, self._cut = 0, False
        self._fault = ""
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._file = self._part.open("wb")
        except OSError as error:
            raise ExecutorError(f"the cassette {self._path} cannot be written: {error.strerror}") from error
        self._write(msgspec.json.encode(header))

    def add(
        self,
        api: WireApi,
        exchange: Exchange,
        request: Mapping[str, Any],
        content: bytes,
        headers: Mapping[str, str],
        agent: str,
        size: int,
    ) -> None:
        """Keep an exchange that has ended, whose request had `size` bytes. One that a limit refused is not kept: limits hold again in a replay."""
        if exchange.ending == "refused" or self._cut:
            return
        if self._size + size + len(content) > MOST_CASSETTE:
            self._cut = True
            self._write(_CUT)
            return
        clean = self._redactor.value(self._scrubber.request(request))
        answer, encoded, withheld = self._answer(api, content)
        line = msgspec.json.encode(
            RecordedExchange(
                number=exchange.number,
                api=exchange.api,
                agent=agent[:200],
                request=clean,
                status=exchange.status,
                headers={key: headers[key] for key in _KEPT if key in headers},
                answer=answer,
                answer_base64=encoded,
                withheld=withheld,
                ending=exchange.ending,
                note=self._redactor.text(exchange.note),
            )
        )
        self._write(line)

    def _answer(self, api: WireApi, content: bytes) -> tuple[str, str, str]:
        """Return an answer without secrets: as text, as base64 where it is no text, or why it is left out."""
        try:
            text = content.decode()
        except UnicodeDecodeError:
            return "", base64.b64encode(content).decode(), ""
        clean = self._redactor.text(text)
        before, after = read_answer(api, content), read_answer(api, clean.encode())
        if after is not None:
            # In a stream a secret may come in pieces, which no search of the whole finds.
            pieces = [
                after.text,
                after.refusal,
                *(msgspec.json.encode(call.args).decode() for call in after.calls),
            ]
            if any(self._redactor.text(piece) != piece for piece in pieces):
                return "", "", "it holds a secret in pieces"
        if before is not None and (after is None or len(before.calls) != len(after.calls)):
            return "", "", "it cannot be read any more without its secrets"
        return clean, "", ""

    def _write(self, line: bytes) -> None:
        try:
            self._file.write(line + b"\n")
        except OSError as error:
            self._note_fault(error)
        self._size += len(line) + 1

    def _note_fault(self, error: OSError) -> None:
        self._fault, self._cut = f"the cassette {self._path} cannot be written: {error.strerror}", True

    def close(self) -> None:
        """Put the file in its place. A second call does nothing. ExecutorError: it could not be written."""
        if self._file.closed:
            return
        try:
            self._file.close()
            self._part.replace(self._path)
        except OSError as error:
            self._note_fault(error)
        if self._fault:
            raise ExecutorError(self._fault)


class CassettePlayer:
    """Answers the requests of an attempt from its cassette. `differs` says where the agent did not ask what was recorded.

    `explain` says what else may be behind a difference.
    """

    def __init__(
        self, cassette: Cassette, scrubber: Scrubber, redactor: Redacts, explain: Callable[[], str] = str
    ) -> None:
        self._place, self._left = cassette.header.place, list(cassette.exchanges)
        self._scrubber, self._redactor, self._explain = scrubber, redactor, explain
        self._digests = [request_digest(one.api, one.request) for one in self._left]
        self.differs = ""

    def find(self, api: str, request: Mapping[str, Any], number: int) -> RecordedExchange | None:
        """Return what was recorded of a request; of several alike the first that was not asked yet. None: see `differs`.

        For an agent nothing is answered any more, once it differs; judges and responders are many, so each is on its own.
        """
        alone = self._place == JUDGES
        if self.differs and not alone:
            return None
        clean = self._redactor.value(self._scrubber.request(request))
        digest = request_digest(api, clean)
        if digest in self._digests:
            index = self._digests.index(digest)
            self._digests.pop(index)
            found = self._left.pop(index)
            if not found.withheld:
                return found
            self.differs = f"the answer to request {found.number} is not in the cassette: {found.withheld}"
            return None
        self.differs = self._describe(clean, number)
        return None

    def unplayed(self) -> str:
        """Return that an agent did not ask all that was recorded, or nothing. What it had given up counts for nothing."""
        left = sorted(one.number for one in self._left if one.ending != "gone")
        if self.differs or not left:
            return ""
        return (
            f"the agent did not make the request {left[0]} of its cassette ({self._place}), which has {len(left)} more "
            "than it made"
        )

    def _describe(self, asked: Mapping[str, Any], number: int) -> str:
        if not self._left:
            return f"the agent made a request {number} that its cassette ({self._place}) does not have"
        wanted = msgspec.json.encode(asked)
        near = max(
            self._left,
            key=lambda one: _common(msgspec.json.encode(one.request), wanted),
        )
        where, before, now = first_difference(near.request, asked) or ("the interface", near.api, "another")
        also = self._explain()
        return (
            f"the request {number} differs from the cassette ({self._place}, request {near.number}) at {where}: recorded "
            f"{before!r}, now {now!r}{f'; {also}' if also else ''}"
        )


def _common(one: bytes, other: bytes) -> int:
    """Return with how many bytes both begin alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def request_digest(api: str, request: Mapping[str, Any]) -> bytes:
    """Return the digest of a scrubbed request, whatever the order of its keys."""
    return hashlib.sha256(api.encode() + b"\0" + msgspec.json.encode(request, order="sorted")).digest()


def text_digest(*texts: str) -> str:
    """Return the digest of texts, as hex."""
    return hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()


def read_header(path: Path) -> CassetteHeader:
    """Return the first line of a cassette. WazaError: it is none, or of another version."""
    with _opened(path) as file:
        return _header(path, file.readline())


def read_cassette(path: Path) -> Cassette:
    """Read a cassette. WazaError: it is none, of another version, or damaged."""
    with _opened(path) as file:
        header, exchanges = _header(path, file.readline()), list[RecordedExchange]()
        for number, line in enumerate(file, 2):
            if line.strip() == _CUT:
                return Cassette(header, exchanges, cut=True)
            try:
                exchanges.append(msgspec.json.decode(line, type=RecordedExchange))
            except msgspec.MsgspecError as error:
                raise WazaError(
                    f"{path}:{number}: not a line of a cassette: {error}; record it again"
                ) from error
    return Cassette(header, exchanges)


def find_cassettes(directory: Path) -> Iterator[Path]:
    """Yield the cassettes of a directory, by name."""
    yield from sorted(path for path in directory.glob(f"*{SUFFIX}") if path.is_file())


def _opened(path: Path) -> Any:
    try:
        return path.open("rb")
    except OSError as error:
        raise WazaError(f"{path} cannot be read: {error.strerror}") from error


def _header(path: Path, line: bytes) -> CassetteHeader:
    try:
        header = msgspec.json.decode(line, type=CassetteHeader)
    except msgspec.MsgspecError as error:
        raise WazaError(f"{path}:1: not a cassette: {error}") from error
    if (header.form, header.version) != (FORM, VERSION):
        raise WazaError(
            f"{path}:1: a cassette of the form {header.form} {header.version}; this waza reads {FORM} {VERSION}"
        )
    return header
