"""Tables over several results: models, skills, recommendation, skill impact, comparison of files."""

from __future__ import annotations

import msgspec
from tests.unit.report.factory import Lines, outcome, run, suite, task

from waza.model.observation import ToolEvent, Usage
from waza.model.result import Pairwise, SkillImpact
from waza.report.compare_table import print_comparison
from waza.report.console import print_report
from waza.report.overview import print_model_comparison, print_recommendation, print_skills_summary
from waza.report.table import table
from waza.report.view import InvocationView, RunView, compare_outcomes
from waza.results.compare import compare
from waza.results.invocation import InvocationResults
from waza.results.outcome import Outcome
from waza.results.recommend import recommend
from waza.results.verdict import NotStarted


def body(lines: Lines) -> list[str]:
    return list(lines)[4:]


def test_models_are_compared_in_order_of_their_ids() -> None:
    used = Usage(
        turns=1200,
        input_tokens=1000,
        output_tokens=234,
        cache_read_tokens=5,
        cache_write_tokens=5,
        premium_requests=2.0,
        ai_credits=0.5,
    )
    lines = Lines()
    print_model_comparison(
        [
            suite([task()], model="b"),
            suite([task("T", run(1, "failed"))], model="a", summary={"usage": used}),
        ],
        lines.draw,
    )
    assert lines[2] == "MODEL COMPARISON"
    assert body(lines) == [
        "Model  Score  Success  Duration  Turns  Tokens  Premium Reqs  AI Credits",
        "-----  -----  -------  --------  -----  ------  ------------  ----------",
        "a       0.00     0.0%    1.234s  1,200   1,234             2      0.5000",
        "b       1.00   100.0%    1.234s      -       -             -           -",
    ]
    own = msgspec.structs.replace(used, provider="custom", ai_credits=None)
    lines = Lines()
    print_model_comparison(
        [suite([task()], model=model, summary={"usage": own}) for model in "ab"], lines.draw
    )
    assert body(lines)[0].split() == ["Model", "Score", "Success", "Duration", "Turns", "Tokens", "Requests"]


def test_a_model_that_did_not_come_to_its_end_has_no_success_rate() -> None:
    lines = Lines()
    cut = suite([task()], model="b", metadata={"run_status": "stopped"})
    print_model_comparison([suite([task()], model="a"), cut], lines.draw)
    assert [line.split()[2] for line in body(lines)[2:]] == ["100.0%", "not"]
    assert "not known" in lines[-1]


def test_skills_add_up_over_their_models() -> None:
    fine, bad = outcome(task("A"), task("B")), outcome(task("A"), task("B", run(1, "failed")))
    results = InvocationResults(
        outcomes=(fine, bad, fine),
        skills=("one", "one", "two"),
        not_started=(NotStarted(skill="six", model="m", why="the server is gone"),),
        without_suite=("bare",),
    )
    lines = Lines()
    print_skills_summary(InvocationView(results), lines.draw)
    assert lines[2] == "MULTI-SKILL RUN SUMMARY"
    assert [line.split() for line in body(lines)[2:]] == [
        ["one", "❌", "Failed", "75.0%", "0.75"],
        ["two", "✅", "Passed", "100.0%", "1.00"],
        ["six", "on", "m", "❌", "Not", "started", "-", "-"],
        ["bare", "○", "No", "suite", "-", "-"],
    ]


def test_a_recommendation_is_shown_with_its_parts() -> None:
    found = recommend([suite([task()], model="a"), suite([task("T", run(1, "failed"))], model="b")])
    assert found is not None
    lines = Lines()
    print_recommendation(found, lines.draw)
    assert lines[2] == "RECOMMENDATION"
    assert body(lines)[0] == "Model:   a (8.5 of 10)"
    assert body(lines)[2] == "Margin:  466.7%"
    assert body(lines)[4:] == [
        "Model  Total  Aggregate  Success  Consistency  Speed",
        "-----  -----  ---------  -------  -----------  -----",
        "1. a     8.5       10.0     10.0          5.0    5.0",
        "2. b     1.5        0.0      0.0          5.0    5.0",
        "",
        "Weights: Aggregate 40%, Success 30%, Consistency 20%, Speed 10%",
    ]


def impact(before: float, after: float, pairwise: Pairwise | None = None) -> SkillImpact:
    delta = after - before
    return SkillImpact(
        pass_rate_with_skills=after,
        pass_rate_baseline=before,
        delta=delta,
        percent_change=delta / max(before, 0.01) * 100,
        pairwise=pairwise,
    )


def skill_impact(found: Outcome) -> list[str]:
    """The lines of the section, the last one of the report."""
    lines = Lines()
    print_report(RunView.of(found, "s"), lines.draw)
    return lines[lines.index("SKILL IMPACT") + 2 :] if "SKILL IMPACT" in lines else []


def test_skill_impact_of_each_task_and_overall() -> None:
    judged = Pairwise(winner="skill", magnitude="much-better", reasoning="", position_consistent=False)
    found = outcome(
        task("A", skill_impact=impact(0.0, 1.0, judged)),
        task("B", skill_impact=impact(1.0, 1.0)),
        task("C", run(1, "failed"), skill_impact=impact(0.5, 0.25)),
        is_baseline=True,
        baseline_outcome=suite([task("A", run(1, "failed")), task("B"), task("C", run(1, "failed"))]),
    )
    assert skill_impact(found) == [
        "With skills:     66.7%",
        "Without skills:  33.3%",
        "Delta:           +33.3 pp",
        "",
        "[IMPROVED] A: 0.0% without, 100.0% with skills (+100.0 pp)",
        "    judged: skill (much-better), but not when asked the other way round",
        "[NEUTRAL] B: 100.0% without, 100.0% with skills (+0.0 pp)",
        "[REGRESSED] C: 50.0% without, 25.0% with skills (-25.0 pp)",
        "",
        "Verdict: positive: more tasks pass with the skills than without them",
        (
            "Scores: 1 of 3 tasks better, 0 worse: +33.3 points, 95 % interval -100 to +100;\n"
            "p = 1. The data cannot tell which is better. 3 tasks are too few: even if all\n"
            "changed alike, p would be 0.25."
        ),
    ]


def test_verdicts_on_skills() -> None:
    def verdict_for(with_skills: bool, without: bool) -> str:
        tasks = [task("T", run(1, "passed" if passed else "failed")) for passed in (with_skills, without)]
        lines = skill_impact(outcome(tasks[0], baseline_outcome=suite(tasks[1:])))
        return lines[-2].split(":")[1].strip()

    assert verdict_for(True, False) == "positive"
    assert verdict_for(False, True) == "negative"
    assert verdict_for(True, True) == "neutral"


def test_without_a_baseline_nothing_is_shown() -> None:
    assert skill_impact(outcome(task())) == []


def test_recommended_models_are_compared_with_the_others() -> None:
    lines = Lines()
    found = recommend([suite([task()], model="a"), suite([task("T", run(1, "failed"))], model="b")])
    assert found is not None
    better, worse = suite([task("T")], model="a"), suite([task("T", run(1, "failed"))], model="b")
    outcomes = [Outcome.of(better), Outcome.of(worse)]
    found["comparisons"] = compare_outcomes(outcomes)
    print_recommendation(found, lines.draw)
    assert "b against a: 0 of 1 task better, 1 worse: -100 points; p = 1." in lines.text


def test_a_comparison_of_files() -> None:
    calls = [ToolEvent(turn=1, sequence=1, tool_name="bash", success=True)]
    before = suite([task("A", run(1, "failed")), task("Gone")], model="", summary={"duration_ms": 500})
    after = suite([task("A", run(tool_events=calls)), task("A very long name of a task indeed")], model="m")
    lines = Lines()
    print_comparison(compare([("a.json", before), ("b.json", after)]), lines.draw)
    text = lines.text
    assert "[1] a.json (default model)\n[2] b.json (m)" in text
    assert "Score              0.5000  1.0000   +0.5000" in text
    assert "Task success rate   50.0%  100.0%  +50.0 pp" in text
    assert "Duration            500ms  1.234s    +734ms" in text
    assert "TOOL USE" in text
    assert "Calls per task              0.00     0.50" in text
    assert lines[-5:] == [
        "Task                                       [1]          [2]    Delta",
        "---------------------------------  -----------  -----------  -------",
        "A                                  0.00 failed  1.00 passed  ↑ +1.00",
        "Gone                               1.00 passed          n/a      n/a",
        "A very long name of a task indeed          n/a  1.00 passed      n/a",
    ]


def test_a_comparison_without_calls_has_no_tool_section() -> None:
    lines = Lines()
    print_comparison(
        compare([("a", suite([task()])), ("b", suite([task("Greets", run(1, "failed"))]))]), lines.draw
    )
    assert "TOOL USE" not in lines.text
    assert "↓ -1.00" in lines.text


def test_columns_of_tables_count_wide_characters_twice() -> None:
    assert list(table(("A", "B"), [("你好", "1"), ("e\u0301", "22"), ("x\n\x1by", "3")])) == [
        "A         B",
        "-------  --",
        "你好      1",
        "e\u0301        22",
        "x \\x1by   3",
    ]


def test_the_table_of_skills_counts_the_tasks_of_the_plan() -> None:
    drawn: list[object] = []
    head = suite([task("A"), task("B", status="skipped")], summary={"total_tests": 1})
    view = InvocationView(InvocationResults(outcomes=(Outcome.of(head),)))
    print_skills_summary(view, lambda _, parts: drawn.extend(parts))
    assert "50.0%" in repr(drawn[0])
