from __future__ import annotations

from typing import Any

import pytest

from waza.errors import UsageError
from waza.kit import yaml
from waza.registry.edit import insert_grader

REF = "github.com/acme/graders#tone@v1"
SMALL: dict[str, Any] = {"ref": REF}
LARGE: dict[str, Any] = {
    "ref": REF,
    "name": "house style",
    "weight": 2,
    "config": {"threshold": 0.9, "nested": {"x": "on", "z": {}}, "words": ["a", "b: c"]},
}

COMMENTED = """\
# A suite.
name: s   # its name

graders:   # what is checked
  # the first
  - type: text   # plain
    config: {contains: ["#"]}

  - type: file
    config:
      must_exist: [a]
    # inside the last one

# about tasks
tasks: ['*.yaml']
# the end"""


def added_lines(text: str, entry: dict[str, Any] = SMALL) -> tuple[list[str], list[str]]:
    """The lines around the addition, and the addition: all other lines are the same, byte for byte."""
    before, after = (one.split("\n") for one in (text, insert_grader(text, entry)))
    at = next(
        (i for i, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), len(before)
    )
    count = len(after) - len(before)
    assert after[:at] + after[at + count :] == before, "another line was changed"
    return after[max(0, at - 1) : at], after[at : at + count]


def test_a_block_of_indented_items():
    assert added_lines(COMMENTED) == (["    # inside the last one"], [f"  - ref: {REF}"])


def test_all_keys_of_an_entry():
    assert added_lines(COMMENTED, LARGE)[1] == [
        f"  - ref: {REF}",
        '    name: "house style"',
        "    weight: 2",
        "    config:",
        "      threshold: 0.9",
        "      nested:",
        '        x: "on"',
        "        z: {}",
        '      words: ["a", "b: c"]',
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("graders:\n- type: text\ntasks: []\n", "graders:\n- type: text\n- ref: R\ntasks: []\n"),
        ("graders:\n    -   type: text\n", "graders:\n    -   type: text\n    - ref: R\n"),
        ("graders:\n  -\n    type: text\n", "graders:\n  -\n    type: text\n  - ref: R\n"),
        ("graders:\n- type: text", "graders:\n- type: text\n- ref: R\n"),
        ("graders:\n- {type: text}\n\n\n# c\n\nb: 1", "graders:\n- {type: text}\n- ref: R\n\n\n# c\n\nb: 1"),
        ("graders: []\nb: 1\n", "graders:\n  - ref: R\nb: 1\n"),
        ("graders: [ ]   # none yet\nb: 1", "graders:   # none yet\n  - ref: R\nb: 1"),
        ("graders: []", "graders:\n  - ref: R\n"),
        ("graders:\nb: 1\n", "graders:\n  - ref: R\nb: 1\n"),
        ("graders: null\n", "graders:\n  - ref: R\n"),
        ("graders: ~ # c\n", "graders: # c\n  - ref: R\n"),
        ("graders: # none yet\n", "graders: # none yet\n  - ref: R\n"),
        ("'graders': []\n", "'graders':\n  - ref: R\n"),
        ("a: 1", "a: 1\ngraders:\n  - ref: R\n"),
        ("a: 1\n# the end\n\n", "a: 1\n# the end\n\ngraders:\n  - ref: R\n"),
        ("  a: 1\n  b: 2\n", "  a: 1\n  b: 2\n  graders:\n    - ref: R\n"),
        ("---\na: 1\n", "---\na: 1\ngraders:\n  - ref: R\n"),
        (
            "%YAML 1.2\n---\ngraders:\n- {type: text}\n",
            "%YAML 1.2\n---\ngraders:\n- {type: text}\n- ref: R\n",
        ),
        ("\ufeffa: 1\n", "\ufeffa: 1\ngraders:\n  - ref: R\n"),
        (
            "graders:\r\n- {type: a}\r\n# c\r\nb: 1\r\n",
            "graders:\r\n- {type: a}\r\n- ref: R\r\n# c\r\nb: 1\r\n",
        ),
        ("a: 1\r\ngraders: []\r\nb: 2", "a: 1\r\ngraders:\r\n  - ref: R\r\nb: 2"),
        ("a: 1\r\nb: 2", "a: 1\r\nb: 2\r\ngraders:\r\n  - ref: R\r\n"),
        ("a: 1\nb: 2\r\ngraders: []\nc: 3", "a: 1\nb: 2\r\ngraders:\n  - ref: R\nc: 3"),
        ("a: 'x\u2028y\x85z'\ngraders: []\nb: 1\n", "a: 'x\u2028y\x85z'\ngraders:\n  - ref: R\nb: 1\n"),
        ('a: "x\x0cy"\ngraders:\n- {type: text}\nb: 1\n', None),
        (
            "graders:\n- type: text\n  config: |\n    a\n    # b\nb: 1\n",
            "graders:\n- type: text\n  config: |\n    a\n    # b\n- ref: R\nb: 1\n",
        ),
        ("graders:\n- a: >-\n    text\n\n\nb: 1\n", "graders:\n- a: >-\n    text\n- ref: R\n\n\nb: 1\n"),
        ("日本: é\ngraders:\n- {name: ü}\n", "日本: é\ngraders:\n- {name: ü}\n- ref: R\n"),
    ],
)
def test_layouts(before: str, after: str | None):
    if after is None:
        with pytest.raises(UsageError, match="the suite cannot be read, line 1: the control character"):
            insert_grader(before, SMALL)
        return
    assert insert_grader(before, SMALL) == after.replace("R", REF)


@pytest.mark.parametrize(
    "text",
    [
        "{a: 1, graders: []}\n",
        "{a: 1}\n",
        "graders: [{type: text}]\n",
        "graders: [\n  {type: text},\n]\n",
        "graders: [\n]\n",
        "a: 1\n...\n",
        "x: &x [{type: text}]\ngraders: *x\n",
        "base: &b {graders: [{type: text}]}\n<<: *b\n",
        "graders:\n- type: text\n  a: |+\n    kept\n\n\nb: 1\n",
        "graders: &g []\n",
        "graders: 0\n",
        "graders: ''\n",
    ],
)
def test_layouts_that_are_left_to_the_person(text: str):
    with pytest.raises(UsageError) as caught:
        insert_grader(text, LARGE)
    message, _, snippet = str(caught.value).partition(":\n")
    assert message.endswith("add this to its graders yourself")
    assert yaml.to_plain(yaml.load(snippet.encode())) == [LARGE]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a mapping of keys"),
        ("# nothing\n", "is not a mapping of keys"),
        ("- a\n", "is not a mapping of keys"),
        ("graders: {a: 1}\n", "is not a mapping of keys with a list of graders"),
        ("graders: text\n", "is not a mapping of keys with a list of graders"),
        ("a: 1\nb: [\n", "the suite cannot be read, line"),
        ("a: 1\na: 2\n", "line 2: duplicate key 'a'"),
    ],
)
def test_texts_that_are_no_suites(text: str, said: str):
    with pytest.raises(UsageError) as caught:
        insert_grader(text, SMALL)
    assert said in str(caught.value)


def test_grader_after_grader():
    text = "name: s\n"
    for number in range(3):
        text = insert_grader(text, {"ref": f"h/o/r@v{number}"})
    assert text == "name: s\ngraders:\n  - ref: h/o/r@v0\n  - ref: h/o/r@v1\n  - ref: h/o/r@v2\n"
