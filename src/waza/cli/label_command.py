"""What `waza label` does with its options."""

from __future__ import annotations

import getpass
import secrets
import sys
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path

import msgspec

from waza.author.assure.labels import CHOICES, Choice, Labelling, LabelQuestion, list_questions
from waza.cli.open_project import open_project
from waza.cli.open_results import find_runs, load_run
from waza.cli.streams import ask, print_line, print_notice
from waza.errors import EXIT_OK, UsageError
from waza.problem import display_path

_BEFORE_BROWSER = 0.5  # seconds
_TOKEN = 18  # bytes
_KEYS: dict[str, Choice] = {one[:length]: one for one in CHOICES for length in range(1, len(one) + 1)}
_ASKED = "pass, fail or unsure (p/f/u); s skips, q ends:"


class LabelArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `waza label`, named as in `waza.cli.label`."""

    results: str | None
    graders: tuple[str, ...]
    output: Path
    rater: str
    seed: int | None
    terminal: bool
    port: int
    no_browser: bool


def label(given: LabelArguments) -> int:
    """Ask until all is labelled, or the rater ends it; return the exit code."""
    saved = find_runs(given.results, open_project().directory).only()
    result = load_run(saved)
    labelling = Labelling(
        given.output,
        result,
        saved.file(),
        list_questions(result, given.graders),
        given.rater or _user_name(),
        given.seed,
    )
    for one in labelling.changed:
        print_notice(
            f"warning: {one.key}: the answer changed since {one.rater} labelled it by {one.grader}; label it again"
        )
    print_notice(f"{labelling.describe()}; the order has the seed {labelling.seed}")
    if given.terminal:
        _ask_in_terminal(labelling)
    else:
        _serve(labelling, given)
    print_notice(
        f"{labelling.describe()}: {display_path(given.output)}" if labelling.done else "nothing was labelled"
    )
    return EXIT_OK


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        raise UsageError("it is not known who labels; name the rater with --rater") from None


def _ask_in_terminal(labelling: Labelling) -> None:
    number = labelling.first_open()
    skipped = set[int]()
    while number is not None and number not in skipped:
        print_line(_describe(labelling.questions[number], f"{number + 1} of {len(labelling.questions)}"))
        typed = _ask_choice()
        if typed == "q":
            return
        if typed == "s":
            skipped.add(number)
        else:
            labelling.set(number, _KEYS[typed])
        number = labelling.first_open(number)


def _ask_choice() -> str:
    """Return a key of `_KEYS`, `s`, or `q`, which the end of the input is as well."""
    while True:
        line = ask(_ASKED)
        typed = line.strip().lower() if line else "q"
        if typed in _KEYS or typed in ("s", "q"):
            return typed
        print_notice(f"{typed!r} is not one of them")


def _describe(question: LabelQuestion, place: str) -> str:
    parts = [f"---- question {place} ----", "Prompt:", question.answer.prompt.strip() or "(it is empty)"]
    if question.expected.strip():
        parts += ["", "Expected:", question.expected.strip()]
    cut = " (only its beginning and its end were kept)" if question.answer.truncated else ""
    parts += ["", f"Answer{cut}:", question.answer.output.strip() or "(it is empty)"]
    parts += ["", f"Does the answer meet the criterion of {question.grader}?"]
    parts += [question.criterion.strip() or "(the results do not hold its criterion)"]
    return "\n".join(parts)


def _serve(labelling: Labelling, given: LabelArguments) -> None:
    from waza.dashboard.label_server import LabelServer
    from waza.dashboard.listen import listen

    token = secrets.token_urlsafe(_TOKEN)

    def make(port: int, closing: Callable[[], bool]) -> LabelServer:
        del closing
        return LabelServer(labelling, token, port, print_notice)

    def started(port: int) -> None:
        url = f"http://localhost:{port}/{token}/"
        print_line(f"waza label: {url}")
        sys.stdout.flush()
        if not given.no_browser and sys.stdout.isatty():
            opener = threading.Timer(_BEFORE_BROWSER, webbrowser.open, [url])
            opener.daemon = True
            opener.start()

    listen(make, given.port, started)
