"""Lines for narrow screens."""

from waza.report.section import wrapped
from waza.report.table import WIDTH, columns
from waza.report.wrap import cut_middle, wrap


def test_lines_break_at_blanks_and_long_words_anywhere():
    assert wrap("one two three four", 10, "- ") == ["- one two", "  three", "  four"]
    assert wrap("a" * 25, 10) == ["a" * 10, "a" * 10, "a" * 5]
    assert wrap("x\n\n  y", 10, "  ", "    ") == ["  x", "", "      y"]
    assert wrap("", 10, "- ") == ["-"]


def test_columns_are_counted_and_not_characters():
    lines = wrap("这是一个很长的句子，没有空格。" * 3 + " 🙂🙂🙂🙂🙂🙂🙂", 20, "• ")
    assert max(map(columns, lines)) <= 20
    assert (
        "".join(line[2:] for line in lines).replace(" ", "")
        == "这是一个很长的句子，没有空格。" * 3 + "🙂" * 7
    )
    assert max(map(columns, wrapped("句子 " * 30).split("\n"))) <= WIDTH


def test_escapes_are_made_before_lines_are_measured():
    assert all(columns(line) <= 20 for line in wrap("\x1b[31m" * 20, 20))


def test_the_middle_is_cut_with_the_count():
    text = "\n".join(f"line {number}" for number in range(100))
    shown = cut_middle(text, 4, 1000)
    note = next(line for line in shown.split("\n") if line.startswith("[…"))
    assert shown.startswith("line 0\nline 1\n[")
    assert shown.endswith("]\nline 98\nline 99")
    kept = sum(len(line) for line in ("line 0\nline 1", "line 98\nline 99"))
    assert f"{len(text) - kept:,} of {len(text):,} characters are left out; --full shows all" in note
    assert cut_middle("x" * 10, 4, 10) == "x" * 10
    assert cut_middle("ab" * 500, 4, 10).split("\n")[::2] == ["ababa", "babab"]
    assert cut_middle("a\n" * 3, 4, 100) == "a\n" * 3
