"""Stand-alone child of `_interpreter`: evaluates Python assertions, one JSON line in, one out.

Run as `python -I -S _assertions.py`; it imports the standard library only. In: `{"id", "names",
"assertions"}`; out: `{"id", "results"}` with null for a pass and the text of what went wrong for the
rest. This keeps assertions from harming waza by mistake. It is no sandbox.
"""

from __future__ import annotations

import json
import os
import re

TYPE_CHECKING = False  # `typing` would be one more import in a child that starts often
if TYPE_CHECKING:
    from typing import Any, BinaryIO

MEMORY = 2 * 1024**3  # bytes; `"x" * 10**10` shall be a failed assertion, not a machine out of memory
LONGEST = 1000  # characters of an exception's text
FALSY = "falsy"

BUILTINS = {
    function.__name__: function
    for function in (
        *(len, any, all, str, int, float, bool, list, dict, set, tuple),
        *(sum, min, max, sorted, abs, round, range, enumerate, zip, isinstance),
    )
}


def main() -> None:
    """Answer questions until stdin is closed."""
    limit_memory()
    questions, answers = take_streams()
    for line in questions:
        question = json.loads(line)
        scope = make_scope(question["names"])
        results = [evaluate(assertion, scope) for assertion in question["assertions"]]
        answers.write(json.dumps({"id": question["id"], "results": results}).encode() + b"\n")
        answers.flush()


def limit_memory() -> None:
    """Cap the address space where the system can (not on Windows; macOS does not enforce it)."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    except (ImportError, OSError, ValueError):
        return


def take_streams() -> tuple[BinaryIO, BinaryIO]:
    """Return stdin and stdout as binary files, and put the null device in their place."""
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    return questions, answers


def make_scope(names: dict[str, Any]) -> dict[str, Any]:
    """Return the globals of one grading; generators and lambdas see them too."""
    names["output_length"] = len(names.get("output", ""))
    names["errors"] = [event for event in names.get("transcript", []) if is_error(event)]
    return {**BUILTINS, "re": re, **names, "__builtins__": {}}


def is_error(event: dict[str, Any]) -> bool:
    """Whether the event's type or its content, as text, speaks of an error."""
    return any("error" in str(event.get(key)) for key in ("type", "content"))


def evaluate(assertion: str, scope: dict[str, Any]) -> str | None:
    """Return None for a pass, else why it failed."""
    try:
        return None if eval(assertion, scope) else FALSY  # noqa: S307 - evaluating is the purpose of this process
    except BaseException as error:  # noqa: BLE001 - also SystemExit, RecursionError, MemoryError are failures
        return describe_error(error)


def describe_error(error: BaseException) -> str:
    """Return `ClassName: message`, or the class alone when there is no message."""
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001 - an exception of the assertion's own making may do anything
        text = ""
    return f"{type(error).__name__}: {text[:LONGEST]}" if text else type(error).__name__


if __name__ == "__main__":
    main()
