"""The reference of a grader type as plain text, for people and for models."""

from __future__ import annotations

from textwrap import indent

from waza.reference import REQUIRED, GraderPage


def grader_text(page: GraderPage) -> str:
    """Return the reference of a grader type as plain lines."""
    lines = [page.name, "", page.text]
    for section in page.sections:
        lines += ["", f"Keys of {'config' if not section.path else f'config.{section.path}'}:"]
        for key in section.keys:
            default = f", default {key.default}" if key.default not in ("", REQUIRED) else ""
            required = f", {REQUIRED}" if key.default == REQUIRED else ""
            lines += [f"  {key.name} ({key.type}{required}{default})", f"      {key.meaning}".rstrip()]
    if page.example:
        lines += ["", "Example, a task with what the mock answers:", "", indent(page.example.rstrip(), "  ")]
    return "\n".join(lines)
