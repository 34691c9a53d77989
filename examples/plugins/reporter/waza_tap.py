"""The reporter `tap`: results in the form of the Test Anything Protocol."""

from __future__ import annotations

from collections.abc import Iterator

from waza import InvocationResults, Reporter


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
                yield f"{passed} - {name}: {task.test_id}" + (f" # {task.status}" * (passed != "ok"))
        for missing in results.not_started:
            yield f"not ok - {missing.skill}: not started, {missing.why}"
        yield (
            "ok - verdict"
            if results.verdict.passed
            else "not ok - verdict # " + "; ".join(results.verdict.reasons)
        )
