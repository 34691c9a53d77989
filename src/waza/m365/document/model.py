"""An evaluation document, schema 1.7, as structs; the names of their fields are the keys of the format."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from waza.m365.document.objects import DocumentObject, Natural, NonEmpty, Open, Positive, rule
from waza.m365.document.options import Evaluators
from waza.m365.document.scores import Citation, Diagnostics

MOST_TURNS = 20

# Keys that other documentation gives items, though the schema refuses them.
DOCUMENTED = ("testId", "category", "notes", "name")
_MOVE = "move it under 'extensions', as `waza m365 upgrade` does"

Status = Literal["pass", "fail", "partial", "error"]
Mode = Literal["extend", "replace"]
EvaluatorMap = Annotated[Evaluators, rule("evaluators")]
Scores = Annotated[Open, rule("scores")]
Date = Annotated[str, rule("date")]


class ErrorObject(DocumentObject, frozen=True, kw_only=True):
    """Why there is no response, or not every result."""

    code: NonEmpty
    message: NonEmpty


class DocumentTurn(DocumentObject, frozen=True, kw_only=True):
    """One prompt and its results: a single item, or a turn of a conversation."""

    otherwise: ClassVar = "custom keys belong under 'extensions'"
    advice: ClassVar = {
        **dict.fromkeys(DOCUMENTED, _MOVE),
        **dict.fromkeys(
            ("expected", "expected_answer", "expected_output"), "did you mean 'expected_response'?"
        ),
    }
    prompt: NonEmpty
    expected_response: str = ""
    response: str | UnsetType = UNSET
    context: str = ""
    evaluators: EvaluatorMap | UnsetType = UNSET
    evaluators_mode: Mode = "extend"
    citations: list[Citation] = []
    scores: Scores = {}
    diagnostics: Diagnostics = Diagnostics()
    status: Status | UnsetType = UNSET
    error: ErrorObject | UnsetType = UNSET
    extensions: Open = {}


class ThreadSummary(DocumentObject, frozen=True, kw_only=True):
    """How many turns of a conversation ended how."""

    turns_total: Positive
    turns_passed: Natural
    turns_failed: Natural
    turns_partial: Natural
    turns_errored: Natural
    overall_status: Status


class Thread(DocumentObject, frozen=True, kw_only=True):
    """A conversation."""

    otherwise: ClassVar = DocumentTurn.otherwise
    advice: ClassVar = {
        **dict.fromkeys(
            (field for field in DocumentTurn.__struct_fields__ if field != "extensions"),
            "it belongs into a turn",
        ),
        "default_evaluators": "it belongs at the top of the document",
        **DocumentTurn.advice,
    }
    turns: Annotated[list[DocumentTurn], Meta(min_length=1, max_length=MOST_TURNS)]
    name: str = ""
    description: str = ""
    conversation_id: str = ""
    summary: Annotated[ThreadSummary, rule("summary")] | UnsetType = UNSET
    extensions: Open = {}


class Metadata(DocumentObject, frozen=True, kw_only=True):
    """Facts about the document as a whole."""

    more: ClassVar = True
    name: str = ""
    description: str = ""
    createdAt: Date = ""  # noqa: N815  # the format's own spelling
    createdBy: str = ""  # noqa: N815  # as above
    evaluatedAt: Date = ""  # noqa: N815  # as above
    tags: list[str] = []
    agentId: str = ""  # noqa: N815  # as above
    agentName: str = ""  # noqa: N815  # as above
    cliVersion: str = ""  # noqa: N815  # as above
    extensions: Open = {}


class DocumentFile(DocumentObject, frozen=True, kw_only=True):
    """The document. An item is a `DocumentTurn` or a `Thread`."""

    advice: ClassVar = {"evaluators": "did you mean 'default_evaluators'?"}
    more: ClassVar = True
    schemaVersion: Annotated[str, rule("version")]  # noqa: N815  # the format's own spelling
    items: Annotated[list[Annotated[Open, rule("item")]], Meta(min_length=1)]
    schema: str = msgspec.field(name="$schema", default="")
    metadata: Metadata = Metadata()
    default_evaluators: EvaluatorMap | UnsetType = UNSET
