"""Spellings of options: what other programs take, ours takes, of every command."""

from __future__ import annotations

import pytest

from waza.cli.app import cli
from waza.cli.option_spelling import normalize_words


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("run e.yaml --parallel=false", "run e.yaml --no-parallel"),
        ("run e.yaml --parallel=true", "run e.yaml --parallel"),
        ("run e.yaml --parallel --parallel=F", "run e.yaml --no-parallel"),
        ("run e.yaml --no-parallel=false", "run e.yaml --parallel"),
        ("run e.yaml --baseline --baseline=false", "run e.yaml"),
        ("run e.yaml -v=1 --interpret=TRUE", "run e.yaml --verbose --interpret"),
        ("run e.yaml --parallel=maybe", "run e.yaml --parallel=maybe"),
        ("run e.yaml -o=x.json -m=gpt-4", "run e.yaml -o x.json -m gpt-4"),
        ("run e.yaml --output=x.json", "run e.yaml --output=x.json"),
        ("run e.yaml --debug --no-update-check -v", "--debug --no-update-check run e.yaml -v"),
        ("run e.yaml --debug=false", "run e.yaml"),
        ("--debug run e.yaml", "--debug run e.yaml"),
        ("m365 run d.json -o=r.csv --debug", "--debug m365 run d.json -o r.csv"),
        (
            "grade e.yaml --results r.json --no-update-check=true",
            "--no-update-check grade e.yaml --results r.json",
        ),
        ("run --resume e.yaml --resume=x", "run --resume e.yaml --resume=x"),
        ("run e.yaml -t --debug", "run e.yaml -t --debug"),
        ("run -- --debug --parallel=false", "run -- --debug --parallel=false"),
        ("nothing --parallel=false", "nothing --parallel=false"),
        ("", ""),
    ],
)
def test_a_command_line_as_our_parser_takes_it(given: str, taken: str) -> None:
    assert normalize_words(cli, given.split()) == taken.split()


@pytest.mark.parametrize(
    "words", [["--output", ""], ["-o", ""], ["--output="], ["-o="], ["--transcript-dir", ""]]
)
def test_an_empty_path_is_no_path(words: list[str]) -> None:
    assert normalize_words(cli, ["run", "e.yaml", *words]) == ["run", "e.yaml"]


def test_values_stay_what_they_are() -> None:
    words = ["run", "e.yaml", "--task", "--baseline=false", "--judge-model", "", "-o", "--no-save=0"]
    assert normalize_words(cli, words) == words
