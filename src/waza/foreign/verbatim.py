"""Texts of other tools in suites: what looks like a template of waza stays the text that it is."""

from __future__ import annotations

from waza.kit.template import quote

BRACES = "open_braces"
"""The variable of a suite that holds two braces, for prompts with the text of a reference in them."""


def in_prompt(text: str, inputs: dict[str, str]) -> str:
    """Return a text as a prompt that is rendered to it; `inputs` of the suite get the variable that this may take."""
    quoted = quote(text, f"{{{{.Vars.{BRACES}}}}}")
    if quoted != text:
        inputs[BRACES] = "{{"
    return quoted


def in_config(text: str) -> str:
    """Return a text as a value in a grader's config that is rendered to it."""
    return quote(text, '{{"{{"}}')
