"""Ablation: sections of awkward texts, and how often chance alone gives a verdict."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from waza.author.ablate.ablation import PartResult, RunOfSkill
from waza.author.ablate.compare_parts import Arm, TaskRuns, compare_parts
from waza.author.ablate.copies import copy_skill
from waza.author.ablate.parts import Part, find_parts
from waza.author.ablate.sections import SectionedText
from waza.author.tokens.count import EstimatedCounter
from waza.results.comparison.measured import MeasuredTrial
from waza.results.treatment import Treatment
from waza.suite.discover import read_target

HEAD = "---\nname: s\ndescription: d\n# a comment: no heading\n---\n"


def without(body: str, level: int | None = None, head: str = HEAD) -> dict[str, str]:
    """The body without each section, by the name of the section; the reason where it cannot be left out."""
    text = SectionedText(head + body)
    found = {}
    for section in text.sections(level or text.top_level):
        left = text.without(section)
        assert left.why_not or left.text.startswith(head)
        found[section.name] = left.why_not or left.text.removeprefix(head)
    return found


def test_sections_end_at_the_next_heading_of_their_level_or_above() -> None:
    body = "# T\n\nIntro\n\n## A\n\n### A.1\n\na\n\n## B\n\nb\n\n# U\n\nu\n"
    assert without(body, 2) == {
        "A": "# T\n\nIntro\n\n## B\n\nb\n\n# U\n\nu\n",
        "B": "# T\n\nIntro\n\n## A\n\n### A.1\n\na\n\n# U\n\nu\n",
    }
    assert list(without(body, 3)) == ["A.1"]
    assert list(without(body)) == ["T", "U"]  # there is no title above all others
    assert list(without("# T\n\n### A\n\n### B\n")) == ["A", "B"]
    assert list(without("## A\n\n## B\n")) == ["A", "B"]
    assert without("# T\n\nonly\n") == {"T": ""}
    assert without("No heading.\n") == {}


def test_what_looks_like_a_heading_and_is_none() -> None:
    body = (
        "# T\n\n## A\n\n```md\n## fenced\n```\n\n~~~~\n```\n## still fenced\n~~~~\n\n    ## indented\n\n<!--\n## comment\n-->\n"
        "\n> ## quoted\n\n- ## in a list\n\n#hashtag\n\\## escaped\n\nB\n-\n\nb\n"
    )
    assert list(without(body)) == ["A", "B"]
    assert without(body)["A"] == "# T\n\nB\n-\n\nb\n"
    assert without(body)["B"] == body[: body.index("B\n-")]
    unclosed = "# T\n\n## A\n\n```\n## B\n\n## C\n"
    assert without(unclosed) == {"A": "# T\n\n"}


def test_names_are_unique() -> None:
    body = "# T\n\n## Use\n\n1\n\n## Use\n\n2\n\n## Use 2\n\n3\n\n##\n\n4\n\n## 日本語 *x* `y`\n"
    assert list(without(body)) == ["Use", "Use 2", "Use 2 2", "(no title)", "日本語 *x* `y`"]
    assert without(body)["Use 2"] == body.replace("## Use\n\n2\n\n", "")


def test_line_ends_and_frontmatter_stay() -> None:
    head = "\ufeff---\r\nname: s\r\ndescription: d\r\n---\r\n"
    body = "# T\r\n\r\n## A\r\n\r\na\x0c\u2028b\r\n\r\n## B\r\nb"
    assert without(body, head=head) == {
        "A": "# T\r\n\r\n## B\r\nb",
        "B": "# T\r\n\r\n## A\r\n\r\na\x0c\u2028b\r\n\r\n",
    }
    assert without("# T\r## A\ra\r## B\rb\r") == {"A": "# T\r\n## B\rb\r", "B": "# T\r## A\ra\r"}


def test_what_is_left_keeps_its_headings() -> None:
    # Without A the lines above would become a part of the heading below, if nothing were between them.
    assert without("# T\n\nintro\n## A\na\n\nB\n---\nb\n")["A"] == "# T\n\nintro\n\nB\n---\nb\n"
    # Without A the heading below would be in the list.
    assert "would not be the same" in without("# T\n\n- x\n\n## A\n\na\n\n  ## B\n")["A"]


def test_links_that_lose_their_address_are_counted() -> None:
    text = SectionedText(
        "# T\n\n[one] and [two][1]\n\n## A\n\n[one]: x.md\n[1]: y.md\n\n[own](z.md)\n\n## B\n"
    )
    first, second = text.sections(2)
    assert text.without(first).notes == ("without it 2 links elsewhere in the text have no address",)
    assert text.without(second).notes == ()


def test_parts_of_a_skill_and_copies_without_them(tmp_path: Path) -> None:
    skill = tmp_path / "s"
    (skill / "references/deep").mkdir(parents=True)
    (skill / "scripts").mkdir()
    (skill / ".git").mkdir()
    (skill / "SKILL.md").write_text(
        f"{HEAD}# S\n\n## A\n\nRun scripts/run.py. [x](references/deep/x%20y.md)\n\n## B\n\nb\n",
        encoding="utf-8",
    )
    (skill / "references/deep/x y.md").write_text(
        "[run](../../scripts/run.py) [me](x%20y.md)", encoding="utf-8"
    )
    (skill / "scripts/run.py").write_bytes(b"\xff")
    target = read_target(skill)
    found = find_parts(target, EstimatedCounter())
    assert [(one.name, one.tokens) for one in found.parts] == [
        ("A", 14),
        ("B", 2),
        ("references/deep/x y.md", 11),
        ("scripts/run.py", None),
    ]
    assert [one.notes for one in found.parts] == [
        ("only it names references/deep/x y.md, scripts/run.py",),
        (),
        ("SKILL.md links to it in line 10",),
        ("SKILL.md names it", "references/deep/x y.md links to it in line 1"),
    ]
    copies = [copy_skill(target, tmp_path / f"copy{i}", part) for i, part in enumerate((None, *found.parts))]
    assert [one.name for one in copies] == ["s"] * 5
    listed = [sorted(path.name for path in copy.directory.rglob("*") if path.is_file()) for copy in copies]
    whole = ["SKILL.md", "run.py", "x y.md"]
    assert listed == [whole, whole, whole, ["SKILL.md", "run.py"], ["SKILL.md", "x y.md"]]
    assert not (copies[0].directory / ".git").exists()
    assert copies[1].body.strip() == "# S\n\n## B\n\nb"
    assert (skill / "SKILL.md").read_bytes() == (copies[0].path).read_bytes()


RUN = RunOfSkill(
    trials=1,
    passed=1,
    errors=0,
    status="complete",
    treatment=Treatment(state="as_claimed"),
    loaded=1,
    not_loaded=0,
    loaded_unknown=0,
)


def arm(rates: list[float], trials: int, random: Random) -> Arm:
    tasks = {
        f"t{i}": TaskRuns(
            "", {k: MeasuredTrial({"score": float(random.random() < rate)}) for k in range(1, trials + 1)}
        )
        for i, rate in enumerate(rates)
    }
    return Arm(RUN, tasks)


def simulate(random: Random, parts: int, tasks: int, trials: int, gain: float) -> list[PartResult]:
    rates = [random.choice((0.5, 0.7, 0.9)) for _ in range(tasks)]
    whole = arm(rates, trials, random)
    lower = [rate - gain for rate in rates]
    named = [Part(name=str(i), kind="section", tokens=10) for i in range(parts)]
    return list(compare_parts(named, whole, [arm(lower, trials, random) for _ in named], 0.1))


@pytest.mark.parametrize(("gain", "wrong"), [(0.0, {"helps", "harms"}), (0.1, {"no-gain", "harms"})])
def test_the_chance_of_any_wrong_verdict_is_small(gain: float, wrong: set[str]) -> None:
    """Of four parts without an effect, and of four whose gain is the margin: at most one wrong verdict in 20 ablations."""
    random, runs = Random(20), 300
    found = [simulate(random, parts=4, tasks=10, trials=8, gain=gain) for _ in range(runs)]
    failed = sum(any(part.verdict in wrong for part in ablation) for ablation in found)
    assert failed / runs <= 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5
    if gain == 0:  # and the data are enough to call some parts useless
        assert any(part.verdict == "no-gain" for ablation in found for part in ablation)
    if gain:
        assert {part.verdict for ablation in found for part in ablation} >= {"helps", "cannot-tell"}


def test_the_data_that_are_said_to_be_needed_suffice() -> None:
    random = Random(4)
    (first, *_) = simulate(random, parts=3, tasks=12, trials=3, gain=0.0)
    assert first.verdict == "cannot-tell"
    needed = first.needed
    assert needed is not None
    assert needed.tasks == 12
    assert needed.trials is not None
    again = [
        simulate(random, parts=3, tasks=needed.tasks, trials=needed.trials, gain=0.1)[0].verdict
        for _ in range(60)
    ]
    assert again.count("helps") >= 40  # four of five, less what chance takes
