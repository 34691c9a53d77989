"""What is written into cassettes, and what is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from waza.errors import ExecutorError
from waza.kit.redact import Redactor
from waza.wire import cassette as cassette_module
from waza.wire.api import event_stream
from waza.wire.cassette import CassetteHeader, CassettePlace, CassettePlayer, CassetteRecorder, read_cassette
from waza.wire.chat_completions import ChatCompletions
from waza.wire.exchange import Exchange
from waza.wire.scrub import Scrubber

SECRET = "hunter2-hunter2-hunter2"
REDACTOR = Redactor([SECRET])
API = ChatCompletions()
ASKED: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": f"it is {SECRET}"}]}


def header(**place: Any) -> CassetteHeader:
    return CassetteHeader(
        form="waza.cassette",
        version=1,
        run="r",
        suite="s",
        digest="d",
        executor="command",
        model="",
        place=CassettePlace(**{"arm": "main", "task": "a/b: ü", "trial": 1, **place}),
    )


def stream(*texts: str) -> bytes:
    chunks = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in texts]
    return event_stream(
        [*chunks, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}], done=True
    )


def write(directory: Path, *contents: bytes, **place: Any) -> Path:
    recorder = CassetteRecorder(directory, header(**place), Scrubber({}), REDACTOR)
    for number, content in enumerate(contents, 1):
        exchange = Exchange(number=number, api=API.name, thread="t", model="m", status=200)
        recorder.add(API, exchange, {**ASKED, "n": number}, content, {}, "agent/1", 0)
    assert list(directory.glob("*.ndjson")) == []
    recorder.close()
    recorder.close()
    (path,) = directory.glob("*.ndjson")
    return path


def player(path: Path) -> CassettePlayer:
    return CassettePlayer(read_cassette(path), Scrubber({}), REDACTOR)


def test_secrets_are_redacted_and_answers_with_some_in_pieces_withheld(tmp_path: Path) -> None:
    path = write(tmp_path, stream("fine"), stream(SECRET), stream(SECRET[:9], SECRET[9:]), b"\xff\x00")
    assert "hunter2" not in path.read_text()
    plain, whole, pieces, bytes_ = read_cassette(path).exchanges
    assert plain.body == stream("fine")
    assert "[REDACTED]" in whole.answer
    assert (pieces.answer, pieces.withheld) == ("", "it holds a secret in pieces")
    assert bytes_.body == b"\xff\x00"
    playing = player(path)
    assert playing.find(API.name, {**ASKED, "n": 1}, 1) == plain
    assert playing.find(API.name, {**ASKED, "n": 3}, 2) is None
    assert playing.differs == ("the answer to request 3 is not in the cassette: it holds a secret in pieces")


def test_judges_ask_in_any_order_and_one_that_differs_is_on_its_own(tmp_path: Path) -> None:
    playing = player(write(tmp_path, stream("one"), stream("two"), arm="judges", task="", trial=0))
    assert playing.find(API.name, {**ASKED, "n": 9}, 1) is None
    found = playing.find(API.name, {**ASKED, "n": 2}, 2)
    assert found is not None
    assert found.body == stream("two")


def test_a_cassette_that_grows_too_large_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cassette_module, "MOST_CASSETTE", 2000)
    path = write(tmp_path, stream("one"), stream("x" * 3000), stream("three"))
    read = read_cassette(path)
    assert (len(read.exchanges), read.cut) == (1, True)
    assert [json.loads(line) for line in path.read_text().splitlines()][-1] == {"cut": True}


def test_a_place_that_cannot_be_written_is_an_error_of_the_attempt(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ExecutorError, match="cannot be written"):
        write(tmp_path / "file")
