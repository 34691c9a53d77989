"""Writing the description of a definition file: nothing else changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waza.author.improve.description import DescriptionError, replace_description
from waza.kit import frontmatter, yaml

LONG = "Reviews changes: worst first, with a 'fix' and \"quotes\" # and no comment. " * 4


@pytest.mark.parametrize(
    "written",
    [
        "description: old",
        "description: 'old'",
        "description: >-\n  old\n  text\n\n  more",
        "description: |\n  old: text\n  # no comment\n",
        'description: "old\n  text"',
        "description:\n  old",
        "description:",
    ],
)
@pytest.mark.parametrize("after", ["", "license: MIT\n", "# a comment\n\nmetadata:\n  version: '1'\n"])
def test_whatever_the_style(written, after):
    head = f"---\nname: review\n{written}\n{after}---\n"
    body = "# Review\n\n---\n\ndescription: none\n"
    changed = replace_description(head + body, LONG.strip())
    assert changed.endswith(f"\n{after}---\n{body}")
    found = frontmatter.split(changed)
    assert isinstance(found.meta, yaml.Mapping)
    assert found.meta.entries["description"].value == LONG.strip()  # type: ignore[union-attr]  # it is a text
    assert changed.startswith("---\nname: review\ndescription: >-\n  Reviews changes")


def test_line_ends_and_marks_stay():
    text = "\ufeff---\r\nname: a\r\ndescription: old\r\n---\r\nbody\r\n"
    assert (
        replace_description(text, "new")
        == "\ufeff---\r\nname: a\r\ndescription: >-\r\n  new\r\n---\r\nbody\r\n"
    )


def test_a_description_that_is_missing_is_added():
    assert replace_description("---\nname: a\n---\n", "new") == "---\nname: a\ndescription: >-\n  new\n---\n"
    assert (
        replace_description("---\nlicense: a\n---\n", "new")
        == "---\ndescription: >-\n  new\nlicense: a\n---\n"
    )


def test_a_description_of_several_lines():
    changed = replace_description("---\ndescription: old\n---\n", "one\n\ntwo: 2")
    assert changed == "---\ndescription: |-\n  one\n\n  two: 2\n---\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# none\n", "no frontmatter"),
        ("---\nname: [\n---\n", "cannot be read"),
        ("---\n{name: a, description: b}\n---\n", "in braces"),
        ("---\nname: a\n", "cannot be read"),
    ],
)
def test_what_cannot_be_edited(text, message):
    with pytest.raises(DescriptionError, match=message):
        replace_description(text, "new")


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=300))
def test_any_text_is_written_or_refused(description):
    description = description.strip()
    text = "---\nname: a\ndescription: old\nlicense: b\n---\nbody\n"
    try:
        changed = replace_description(text, description)
    except DescriptionError:
        return
    assert changed.endswith("\nlicense: b\n---\nbody\n")
