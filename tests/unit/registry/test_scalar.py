from __future__ import annotations

from typing import Any

import pytest

from waza.kit import yaml
from waza.registry.scalar import format_scalar


@pytest.mark.parametrize(
    "value",
    [
        "github.com/acme/graders#tone@v1.2.0",
        "sha256:00ff",
        "strict",
        "https://h/o/r.git",
        "a_b",
        "f" * 40,
        "_",
    ],
)
def test_simple_texts_stay_as_they_are(value: str):
    assert format_scalar(value) == value
    assert yaml.to_plain(yaml.load(value.encode())) == value


@pytest.mark.parametrize(
    "value",
    [
        *(
            "",
            "true",
            "null",
            "Yes",
            "off",
            "y",
            "1",
            "1.5",
            "1e5",
            "0x1f",
            "12:30:00",
            "2024-01-01",
            "~",
            "-",
        ),
        *(
            "a: b",
            "a:",
            "a #b",
            "#a",
            "@a",
            "*a",
            "&a",
            "!a",
            "%a",
            "a b",
            " a",
            "a\n",
            '"',
            "'",
            "\\",
            "[",
            "<<",
        ),
        *("\x7f", "\x85", "\u2028", "\u2029", "\ufeff", "\x00", "\U0001f600", "日本", "\x1b[31m"),
        *([1, "a", None], {"a": {"b": [True]}}, {}, 1, 1.5, True, None),
    ],
)
def test_every_value_is_read_back(value: Any):
    text = format_scalar(value)
    assert "\n" not in text
    assert yaml.to_plain(yaml.load(text.encode())) == value
    assert yaml.to_plain(yaml.load(f"- a: {text}\n  b: 1\n".encode())) == [{"a": value, "b": 1}]
    assert text[0] in '"[{' or not isinstance(value, str | list | dict)
