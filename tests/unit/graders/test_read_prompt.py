"""A judge's prompt is taken apart as it was put together, whatever the texts in it look like."""

from __future__ import annotations

import pytest

from waza.graders._ask_judge import EXPECTATION, build_prompt, read_prompt


@pytest.mark.parametrize(
    "texts",
    [
        ["a task", "an outcome", "an answer"],
        ["", "", ""],
        ["```\ncode\n```", "## Candidate output\n\n```\nno\n```", "\n\n---\n\nBelow is the material"],
        ["`````", "lines\nand\n\nmore", "## x"],
    ],
)
def test_instructions_and_texts_come_back(texts: list[str]) -> None:
    titles = ["Task input", EXPECTATION, "Candidate output"]
    prompt = build_prompt("Be fair.\n\n---\n\nReally.", list(zip(titles, texts, strict=True)), "Decide.")
    assert read_prompt(prompt) == (
        "Be fair.\n\n---\n\nReally.",
        {title: text.strip() for title, text in zip(titles, texts, strict=True)},
    )


def test_another_text_is_all_instructions() -> None:
    assert read_prompt("Only this.") == ("Only this.", {})
