"""The reporter `tap`: results in the form of the Test Anything Protocol."""

from __future__ import annotations

from collections.abc import Iterator

from waza import InvocationResults, Reporter

ENDED = {"skipped": "did not run, or was not graded"}  # a bare "skipped" is a directive of the protocol


def safe(text: str) -> str:
    """Return a text on one line, without the sign before directives: "# TODO" would turn a failure into none."""
    return " ".join(text.split()).replace("\\", "\\\\").replace("#", "\\#")


class Tap(Reporter):
    """A line for each task, and one for each run that did not pass for another reason."""

    extension = ".tap"

    def report(self, results: InvocationResults) -> str:
        """Return the document."""
        lines = list(self._lines(results))
        numbered = [line.replace("ok", f"ok {number}", 1) for number, line in enumerate(lines, 1)]
        return "\n".join(["TAP version 13", f"1..{len(lines)}", *numbered]) + "\n"

    def _lines(self, results: InvocationResults) -> Iterator[str]:
        for name, outcome in results.named:
            for task in outcome.tasks():  # one at a time: their transcripts may be large
                passed = "ok" if task.status == "passed" else "not ok"
                status = ENDED.get(task.status, task.status)
                yield f"{passed} - {safe(f'{name}: {task.test_id}')}" + (f" # {status}" * (passed != "ok"))
        for missing in results.not_started:
            yield f"not ok - {safe(f'{missing.name}: not started, {missing.why}')}"
        yield (
            "ok - verdict"
            if results.verdict.passed
            else f"not ok - verdict # failed: {safe('; '.join(results.verdict.reasons))}"
        )
