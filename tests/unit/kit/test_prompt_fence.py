"""Fences around text from elsewhere."""

from __future__ import annotations

import pytest

from waza.kit.prompt_fence import fence_sections


@pytest.mark.parametrize(
    ("texts", "fence"),
    [
        (["plain", ""], "```"),
        (["`code`", "``"], "```"),
        (["a\n```\nb"], "````"),
        (["a", "b `````` c", "```"], "```````"),
    ],
)
def test_a_fence_is_longer_than_any_run_of_backticks(texts: list[str], fence: str):
    found, sections = fence_sections([(f"Text {i}", text) for i, text in enumerate(texts)])
    assert found == fence
    assert sections == [f"## Text {i}\n\n{fence}\n{text}\n{fence}" for i, text in enumerate(texts)]


def test_without_material_there_are_no_sections():
    assert fence_sections([]) == ("```", [])
