"""Plots: what is drawn is what the data says, and never more than a reader can take in."""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree as ET

import pytest
from tests.support.page import Page
from tests.unit.report.factory import EVIL

from waza.kit.share import decimal
from waza.report.plots import (
    MOST_CELLS,
    MOST_ROWS,
    WORST,
    Amount,
    Cell,
    CellRow,
    ScoreMark,
    plot_amounts,
    plot_cells,
    plot_scores,
)
from waza.report.words import grouped

WORDS = {"pass": "passed", "fail": "failed", "error": "error", "partial": "skipped", "none": "did not run"}


def score(name: str, value: float, low: float | None = None, high: float | None = None) -> ScoreMark:
    return ScoreMark(label=name, tone="pass" if value == 1 else "fail", value=value, low=low, high=high)


def scores(*marks: ScoreMark) -> str:
    return plot_scores("p", "Scores", "Mean", marks, "task")


def cells(name: str, tones: str) -> CellRow:
    kinds = {"p": "pass", "f": "fail", "e": "error", "n": "none"}
    found = tuple(Cell(kinds[tone], f"trial {i}") for i, tone in enumerate(tones, 1))
    return CellRow(
        label=name,
        tone="fail" if {*tones} & {*"fe"} else "pass",
        cells=found,
        value=f"{tones.count('p')} of {len(tones)}",
    )


def drawings(html: str) -> list[ET.Element]:
    """The SVG documents in a plot, each of which must be well-formed on its own."""
    found = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    return [ET.fromstring(text) for text in found]  # noqa: S314  # our own text


def titles(drawing: ET.Element) -> list[str]:
    """What the groups of a drawing say on hovering, in their order."""
    return [title.text or "" for title in drawing.findall(".//g/title")]


def labels(html: str) -> list[str]:
    (plot,) = re.findall(r"<ol.*?</ol>", html)[:1]
    return [re.sub("<.*?>", "", line) for line in re.findall("<li>(.*?)</li>", plot)]


def test_scores_are_at_their_places_with_their_intervals_lowest_first():
    html = scores(score("a", 1.0, 1.0, 1.0), score("b", 0.25, 0.0, 0.625), score("c", 0.5))
    (drawing,) = drawings(html)
    assert labels(html) == ["✗ b", "✗ c", "✓ a"]
    assert [mark.get("cx") for mark in drawing.findall(".//circle")] == ["25%", "50%", "100%"]
    assert [(line.get("x1"), line.get("x2")) for line in drawing.findall(".//line[@class='range']")] == [
        ("0%", "62.5%"),
        ("100%", "100%"),
    ]
    assert titles(drawing) == [
        "b: 0.25, 95 % interval 0.00 to 0.62",
        "c: 0.50",
        "a: 1.00, 95 % interval 1.00 to 1.00",
    ]


def test_a_plot_has_a_name_and_a_summary():
    (drawing,) = drawings(scores(score("a", 1.0), score("b", 0.25)))
    name, about = drawing.find("title"), drawing.find("desc")
    assert name is not None
    assert about is not None
    assert (name.text, about.text) == ("Scores", "b 0.25; a 1.00. The tables have all figures.")
    assert drawing.get("role") == "img"
    assert (drawing.get("aria-labelledby"), drawing.get("aria-describedby")) == (
        name.get("id"),
        about.get("id"),
    )


def test_of_many_scores_all_are_in_the_distribution_and_the_lowest_are_named():
    marks = [score(f"t{i}", i / 9_999) for i in range(10_000)]
    html = scores(*marks)
    spread, rows = drawings(html)
    counts = [int(title.rpartition(": ")[2].split()[0].replace(",", "")) for title in titles(spread)]
    assert (len(counts), sum(counts)) == (20, 10_000)
    assert titles(spread)[-1] == "0.95 to 1.00: 500 tasks"
    assert len(spread.findall(".//rect[@class='pass']")) == 1
    assert len(spread.findall(".//rect[@class='fail']")) == 20
    assert len(rows.findall(".//circle")) == WORST
    assert "The 10 lowest of 10,000 tasks" in Page(html).lines
    assert len(html) < 12_000


@pytest.mark.parametrize("count", [1, 2, MOST_ROWS, MOST_ROWS + 1])
def test_up_to_a_number_every_row_is_drawn(count):
    html = scores(*(score(f"t{i}", 0.5) for i in range(count)))
    assert len(labels(html)) == (count if count <= MOST_ROWS else WORST)
    assert len(drawings(html)) == (1 if count <= MOST_ROWS else 2)


def test_every_trial_is_a_cell_with_colour_and_mark_worst_row_first():
    html = plot_cells(
        "p", "Trials", [cells("a", "ppn"), cells("b", "pfe"), cells("c", "f")], WORDS, noun="task"
    )
    (drawing,) = drawings(html)
    found = [(group.get("class"), group.findtext("text")) for group in drawing.findall("g")]
    assert found == [
        *(("cell pass", "✓"), ("cell fail", "✗"), ("cell error", "!")),
        ("cell fail", "✗"),
        *(("cell pass", "✓"), ("cell pass", "✓"), ("cell none", "·")),
    ]
    assert labels(html) == ["✗ b", "✗ c", "✓ a"]
    assert titles(drawing)[:3] == ["trial 1", "trial 2", "trial 3"]
    assert Page(html).lines[-1] == "✓ 3 passed✗ 2 failed! 1 error· 1 did not run"
    assert [text.text for text in drawing.findall("text")] == ["1", "2", "3"]


def test_columns_can_have_names():
    rows = [cells(f"item {i}", "pf") for i in range(3)]
    html = plot_cells("p", "Results", rows, WORDS, noun="item", columns=["tone", "length"])
    (drawing,) = drawings(html)
    assert [text.text for text in drawing.findall("text")] == ["tone", "length"]


def test_many_trials_are_shares_that_add_up():
    tones = "p" * 60 + "f" * 30 + "e" * 10
    (drawing,) = drawings(plot_cells("p", "Trials", [cells("a", tones)], WORDS, noun="task"))
    assert titles(drawing) == ["a: 60 of 100 passed", "a: 30 of 100 failed", "a: 10 of 100 error"]
    boxes = [(box.get("x"), box.get("width")) for box in drawing.findall(".//rect")]
    assert boxes == [("0%", "60%"), ("60%", "30%"), ("90%", "10%")]


def test_a_matrix_of_any_size_is_bounded_and_its_counts_are_of_all():
    rows = [cells(f"t{i}", "p" * (MOST_CELLS - 1) + ("f" if i == 7_000 else "p")) for i in range(10_000)]
    html = plot_cells("p", "Trials", rows, WORDS, noun="task")
    assert labels(html)[0] == "✗ t7000"
    assert Counter(group.get("class") for group in drawings(html)[0].findall("g")) == {
        "cell pass": WORST * MOST_CELLS - 1,
        "cell fail": 1,
    }
    assert "The 10 worst of 10,000 tasks" in Page(html).lines
    assert Page(html).lines[-1] == "✓ 159,999 passed✗ 1 failed"
    assert len(html) < 60_000


def test_amounts_are_bars_with_parts_and_points_greatest_first():
    amounts = [
        Amount(label="small", tone="pass", parts=(10, 15)),
        Amount(label="great", tone="fail", parts=(40, 60)),
    ]
    (drawing, *_) = drawings(plot_amounts("p", "Tokens", "", amounts, grouped, names=("read", "written")))
    assert titles(drawing) == ["great: 100 (read 40, written 60)", "small: 25 (read 10, written 15)"]
    assert [(box.get("class"), box.get("x"), box.get("width")) for box in drawing.findall(".//rect")] == [
        ("part0", "0%", "40%"),
        ("part1", "40%", "60%"),
        ("part0", "0%", "10%"),
        ("part1", "10%", "15%"),
    ]
    mean = Amount(label="a", tone="pass", parts=(4,), points=(2, 6, 8))
    (drawing,) = drawings(plot_amounts("p", "Durations", "", [mean], grouped))
    assert titles(drawing) == ["a: 4 (2 to 8)"]
    assert [point.get("cx") for point in drawing.findall(".//circle")] == ["25%", "75%", "100%"]


def test_without_data_there_is_no_plot():
    assert scores() == ""
    assert plot_cells("p", "Trials", [], WORDS, noun="task") == ""
    nothing = Amount(label="a", tone="pass", parts=(0,), points=(0, 0))
    assert plot_amounts("p", "Durations", "", [nothing], decimal) == ""
    assert plot_amounts("p", "Durations", "", [], decimal) == ""


def test_text_from_elsewhere_is_text():
    evil = f"</title></svg><script>1</script>{EVIL}"
    rows = [CellRow(label=evil, tone="pass", cells=(Cell("pass", evil),), value=evil)]
    for html in (
        scores(score(evil, 0.5)),
        plot_cells("p", evil, rows, WORDS, noun="item", columns=[evil]),
        plot_amounts("p", evil, evil, [Amount(label=evil, tone="pass", parts=(1,))], decimal),
    ):
        page = Page(html)
        assert page.open == []
        assert {tag for tag, _ in page.elements} <= {
            *("figure", "figcaption", "div", "ol", "li", "b", "p", "span"),
            *("svg", "title", "desc", "g", "line", "rect", "circle", "text"),
        }
        assert "\x1b" not in html
