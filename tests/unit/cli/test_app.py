"""How the program ends when something goes wrong that nobody thought of."""

from __future__ import annotations

import sys

import pytest

from waza.cli import app


def broken(error: BaseException, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """Run a command line that raises; return the exit code."""

    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(sys, "argv", ["waza", *words])
    monkeypatch.setattr(app.cli, "main", fail)
    with pytest.raises(SystemExit) as ended:
        app.run()
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ZeroDivisionError("by zero"), 2, "Error: ZeroDivisionError: by zero; this is a defect of waza;"),
        (
            FileNotFoundError(2, "No such file", "x.json"),
            2,
            "Error: cannot write or read x.json: No such file",
        ),
        (OSError(28, "No space left on device"), 2, "Error: cannot write or read the output: No space left"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_no_error_ends_as_a_failed_task_does(
    error: BaseException,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
):
    assert broken(error, monkeypatch, "run") == code
    told = capfd.readouterr().err
    assert told.startswith(said)
    assert told.count("\n") == 1


def test_debug_shows_where_it_was(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]):
    assert broken(ZeroDivisionError("by zero"), monkeypatch, "--debug", "run") == 2
    told = capfd.readouterr().err
    assert told.startswith("Traceback")
    assert "Error: ZeroDivisionError: by zero" in told
