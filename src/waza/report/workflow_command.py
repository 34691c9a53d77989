"""Workflow commands of GitHub Actions, which show a message in the log of a job or beside a line of a file."""

from __future__ import annotations

from waza.kit.unsafe_text import escape_unsafe
from waza.report.words import one_line


def workflow_command(level: str, title: str, message: str, **place: str | int) -> str:
    """Return a command such as `::error file=a.md,line=3,title=T::message`.

    `level` is error, warning or notice. What would end a value or a line is percent-encoded, as GitHub decodes it, so
    that no text is a command of its own.
    """
    properties = ",".join(f"{key}={_encode(str(value))}" for key, value in (*place.items(), ("title", title)))
    data = escape_unsafe(one_line(message)).replace("%", "%25")
    return f"::{level} {properties}::{data}"


def _encode(value: str) -> str:
    """Return the value of a property; commas and colons separate these."""
    text = escape_unsafe(one_line(value)).replace("%", "%25")
    return text.replace(":", "%3A").replace(",", "%2C")
