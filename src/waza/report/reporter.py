"""What a reporter is: a class with one method, from the results of an invocation to a document.

A new reporter is one class and one line in `waza.report.TYPES`, or an entry point in `waza.reporters` of another
package.
"""

from __future__ import annotations

from typing import ClassVar

from waza.results.invocation import InvocationResults


class Reporter:
    """Base of all reporters. Subclass it and write `report`. It is made without arguments, once for each document."""

    extension: ClassVar[str] = ".txt"
    """How the names of its files end, where `--reporter NAME:DIR/` names a directory."""
    needs_file: ClassVar[bool] = False
    """Whether `--reporter NAME`, which prints the document, is refused."""

    def report(self, results: InvocationResults) -> str | bytes:
        """Return the document. Tasks hold transcripts and may be large: `Outcome.tasks()` reads them one at a time."""
        raise NotImplementedError
