"""Markdown and GitHub comments: contents, and that no text of a model becomes markup."""

from __future__ import annotations

import pytest
from tests.unit.report.factory import EVIL, checkpoint, invocation, outcome, run, task, verdict

from waza.model.result import SkillImpact
from waza.report import github, markdown
from waza.report.markdown import code, text

ATTACK = (
    "</td><script>alert(1)</script> | `x` [a](http://evil) ![i](u) **b** @octocat #12 $m$\n| row |\n# head"
)


def test_text_shows_just_the_text_in_one_line() -> None:
    shown = text(ATTACK)
    assert "\n" not in shown
    assert "<" not in shown
    assert "@octocat" not in shown
    assert "#12" not in shown
    for sign in "|`[]*$!":
        assert all(shown[i - 1] == "\\" for i, char in enumerate(shown) if char == sign)


def test_text_keeps_backslashes_from_undoing_the_escapes() -> None:
    assert text("a\\|b") == "a\\\\\\|b"


def test_text_is_cut_and_controls_are_visible() -> None:
    assert text("x" * 300) == "x" * 199 + "…"
    assert text("a\x1b[0m") == "a\\\\x1b\\[0m"


@pytest.mark.parametrize(
    ("given", "span"),
    [
        ("", ""),
        ("plain <b> @me", "`plain <b> @me`"),
        ("a`b", "``a`b``"),
        ("``a", "``` ``a ```"),
        ("a\n\nb", "`a b`"),
        ("x" * 600, "`" + "x" * 166 + " … " + "x" * 331 + "`"),
    ],
)
def test_code_spans_hold_any_text(given: str, span: str) -> None:
    assert code(given) == span


def test_a_document_has_summary_tasks_and_failures() -> None:
    impact = SkillImpact(pass_rate_with_skills=0.0, pass_rate_baseline=1.0, delta=-1.0, percent_change=-100.0)
    details = {"expected": "hello", "found": "hey"}
    bad = [run(i, "failed", [verdict(passed=False, score=0.5, details=details)]) for i in (1, 2)]
    found = outcome(
        task("Good", run(attempts=2)),
        task("Bad", *bad, skill_impact=impact),
        task("Broken", run(1, "error", [])),
    )
    shown = markdown.document(invocation(found))
    assert shown.startswith(
        "# greeter-eval\n\n**❌ Failed**\n\n- 2 of 3 tasks did not pass: 1 failed, 1 errored\n\n| | |\n"
    )
    assert "| Tasks | 3: 1 passed, 1 failed, 1 error |" in shown
    assert "| Task success rate | 33.3% (1 of 3 tasks) |" in shown
    assert "| Graded success rate | 50.0% (1 of 2, without errors and skipped tasks) |" in shown
    assert "| Good | ✓ passed flaky | 1.00 | 1 of 1 (pass@1 0%) | 4ms |" in shown
    assert (
        "### Bad (failed)\n\nIt never passed: 0 of 2 trials.\n\n"
        "Without the skills it passed in 100.0% of its trials.\n\n"
        "- Trial 1/2 (failed)\n"
        "  - **polite (text)** (0.50) `'hello' is missing`\n"
        "    - expected: `hello`\n"
        "    - found: `hey`\n"
        "  - output: `hey`\n"
    ) in shown
    assert "### Broken (error)\n\n- Trial 1/1 (error)\n  - error: `the engine broke`\n" in shown


def test_a_document_without_failures_has_no_such_chapter() -> None:
    assert "## Failures" not in markdown.document(invocation(outcome(task())))


def test_a_comment() -> None:
    bad = run(
        2,
        "failed",
        [verdict("z", passed=False, score=0.5), verdict("a")],
        checkpoints=[checkpoint(1, verdict("c"))],
    )
    found = outcome(task("A"), task("B", run(1), bad), summary={"duration_ms": 850})
    assert github.make_comment(invocation(found)) == (
        "## Waza Evaluation Results\n"
        "\n"
        "**❌ Failed, score 0.94, 850ms**\n"
        "\n"
        "- 1 of 2 tasks did not pass: 1 failed\n"
        "- Tests: 2 total, 1 passed, 1 failed, 0 errors\n"
        "- Task success rate: 50.0% (1 of 2 tasks)\n"
        "- Score range: 0.88 to 1.00 (\u03c3 = 0.0000)\n"
        "\n"
        "### Task Results\n"
        "\n"
        "| Task | Score | Status | Graders |\n"
        "|---|---:|---|---|\n"
        "| A | 1.00 | ✓ passed | polite |\n"
        "| B | 0.88 | ✗ failed | polite |\n"
        "\n"
        "### Flaky Tasks\n"
        "\n"
        "- B: trial pass rate 50%\n"
        "\n"
        "### Failed Task Details\n"
        "\n"
        "#### B\n"
        "\n"
        "Trial 2/2 (failed)\n"
        "\n"
        "- ✓ **a (text)** (1.00) `all checks passed`\n"
        "- ✓ **c (text, after turn 1)** (1.00) `all checks passed`\n"
        "- ✗ **z (text)** (0.50) `'hello' is missing`\n"
        "\n"
        "---\n"
        "\n"
        "Benchmark: greeter-eval • Skill: greeter • Model: gpt-x • Engine: mock\n"
    )


def test_a_comment_on_success() -> None:
    shown = github.make_comment(invocation(outcome(task("A", run(verdicts=[])), skill="", model="")))
    assert "**✅ Passed, score" in shown
    assert "| A | 0.00 | ✓ passed | - |" in shown
    assert "Failed Task Details" not in shown
    assert shown.endswith("Skill: - • Model: (default) • Engine: mock\n")


def test_text_of_a_model_does_not_become_markup() -> None:
    bad = run(1, "failed", [verdict(ATTACK, passed=False, feedback=ATTACK + "```")], error_msg=ATTACK)
    found = outcome(task(ATTACK, bad), task(EVIL), skill=ATTACK, eval_name=ATTACK)
    for shown in (github.make_comment(invocation(found)), markdown.document(invocation(found))):
        outside = [line.split(" ``")[0] for line in shown.splitlines()]  # before a code span
        assert not any("<script" in line for line in outside)
        assert not any("@octocat" in line for line in outside)
        assert not any(line.startswith(("| row", "# head")) for line in outside)
        assert "\x1b" not in shown
        assert "\x01" not in shown


def test_a_comment_fits_into_what_github_accepts() -> None:
    many = [task(f"T{i}", run(1, "failed", [verdict(passed=False, feedback="x" * 400)])) for i in range(3000)]
    shown = github.make_comment(invocation(outcome(*many)))
    assert len(shown) <= github.LONGEST
    assert "more tasks are not shown here." in shown
    assert "more failed tasks are not shown here." in shown
    assert shown.endswith("Model: gpt-x • Engine: mock\n")
