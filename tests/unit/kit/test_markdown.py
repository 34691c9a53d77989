from __future__ import annotations

from waza.kit.markdown import parse


def test_links_have_the_place_of_their_target():
    text = "a [x](a%20b.md) and\n![i](<c d.png>) `[no](z.md)` <https://e.com/x?y=1>\n[r][ref]\n\n[ref]: refs/ü.md#f 'T'\n\n```\n[no](n.md)\n```\n"
    assert [(one.target, one.line, one.column) for one in parse(text, 5).links] == [
        ("a%20b.md", 5, 7),
        ("c%20d.png", 6, 7),
        ("https://e.com/x?y=1", 6, 31),
        ("refs/%C3%BC.md#f", 7, 1),
    ]


def test_the_same_target_twice_in_a_line():
    assert [one.column for one in parse("[a](x.md) [b](x.md)").links] == [5, 15]


def test_a_link_on_a_later_line_of_a_paragraph():
    assert [one.line for one in parse("one\ntwo\nthree [a](x.md)").links] == [3]


def test_headings_lists_tables_and_code():
    found = parse(
        "# T\n\n## A *b*\n\n1. First\n   - sub\n2. Second\n\n| A | B |\n|---|---|\n| x | y |\n\n```\nc\n```\n"
    )
    assert [(one.level, one.text, one.line) for one in found.headings] == [(1, "T", 1), (2, "A *b*", 3)]
    assert [(one.text, one.line, one.ordered) for one in found.items] == [
        ("First", 5, True),
        ("sub", 6, False),
        ("Second", 7, True),
    ]
    assert [(one.cells, one.line, one.header) for one in found.rows] == [
        (("A", "B"), 9, True),
        (("x", "y"), 11, False),
    ]
    assert len(found.code_blocks) == 1
