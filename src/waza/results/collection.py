"""Results of one or several runs, for programs and notebooks."""

from __future__ import annotations

from html import escape
from typing import Any, Literal

import msgspec

from waza.kit.share import decimal
from waza.kit.text import list_first, pluralize
from waza.kit.unsafe_text import escape_unsafe
from waza.model.result import SuiteResult
from waza.results.ending import came_to_its_end, run_status
from waza.results.outcome import Outcome
from waza.results.rows import rows_of
from waza.results.verdict import verdict_of

_SHOWN = 20  # runs in the line or table of a notebook
_TITLES = ("run", "suite", "model", "verdict", "passed", "score")


class Results(msgspec.Struct, frozen=True):
    """The results of runs; a notebook shows them as a table."""

    runs: tuple[SuiteResult, ...]
    """The results of each run, in the order in which they were found."""
    notes: tuple[str, ...] = ()
    """What should be known about the choice of runs, and warnings about the files."""

    def to_rows(self, rows: Literal["trials", "verdicts"] = "trials") -> list[dict[str, Any]]:
        """Return the rows of all runs, a dictionary each, as `waza export` writes them."""
        return [msgspec.to_builtins(row) for run in self.runs for row in rows_of(Outcome.of(run), rows)]

    def __repr__(self) -> str:
        """Return the runs in one line; their data can be huge."""
        names = list_first([run.eval_id or run.eval_name for run in self.runs], _SHOWN)
        return f"<Results of {pluralize(len(self.runs), 'run')}: {names}>"

    def _repr_html_(self) -> str:
        """Return a table of the runs, which notebooks show."""
        lines = [_row("th", _TITLES), *(_row("td", _cells(run)) for run in self.runs[:_SHOWN])]
        rest = len(self.runs) - _SHOWN
        more = f"<p>{pluralize(rest, 'more run')}</p>" if rest > 0 else ""
        return f"<table>{''.join(lines)}</table>{more}"


def _cells(run: SuiteResult) -> tuple[str, ...]:
    total = run.summary
    verdict = verdict_of(run).word
    ending = "" if came_to_its_end(run) else f" ({run_status(run)})"
    return (
        run.eval_id,
        run.eval_name,
        run.config.model_id,
        verdict + ending,
        f"{total.succeeded} of {total.succeeded + total.failed + total.errors + total.skipped}",
        decimal(total.aggregate_score),
    )


def _row(tag: str, cells: tuple[str, ...]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(escape_unsafe(cell))}</{tag}>' for cell in cells)}</tr>"
