"""What `waza m365 init` writes: a document, a custom evaluator in plain Python, and a readme."""

from __future__ import annotations

from waza.kit.json_nodes import dump
from waza.m365.document.version import SCHEMA_VERSION

DOCUMENT = "evals/evals.json"
EVALUATOR = "max_words"

_EVALUATOR = '''\
"""A code-only evaluator: no model is asked. It passes responses of few enough words."""


class MaxWords:
    """Made for each response, with what the document says under `options`."""

    def __init__(self, *, options=None, **_):
        self.words = (options or {}).get("words", 200)

    def __call__(self, *, response="", **_):
        """Score 1 (passes, since the threshold is 1) or 0. Also given: prompt, expected_response, context."""
        count = len(response.split())
        return {"score": int(count <= self.words), "reason": f"{count} words, at most {self.words} wanted"}
'''

_README = f"""\
`waza m365 run {DOCUMENT}`, from the folder above, asks the agent every prompt of the document and gives each
response to the evaluators that it names. `{EVALUATOR}` is a custom one, in `custom-evaluators/{EVALUATOR}/`; Relevance,
Coherence and other built-in ones, some of which need a judge model, can be named beside it.
"""


def starter_files(name: str) -> dict[str, str]:
    """Return the files of a new project, paths to contents. It needs no judge; `name` is the document's."""
    return {
        DOCUMENT: dump(_document(name)),
        "evals/README.md": _README,
        f"custom-evaluators/{EVALUATOR}/{EVALUATOR}.py": _EVALUATOR,
    }


def _document(name: str) -> dict[str, object]:
    return {
        "schemaVersion": SCHEMA_VERSION,
        "metadata": {"name": name, "description": "What the agent must be able to do."},
        "default_evaluators": {EVALUATOR: {"options": {"words": 150}}},
        "items": [
            {
                "prompt": "What can you help me with?",
                "expected_response": "The agent names its subjects and claims nothing beyond them.",
            },
            {
                "name": "keeps the subject",
                "turns": [
                    {"prompt": "I missed my train and need a refund."},
                    {
                        "prompt": "In one sentence: which form is it?",
                        "evaluators": {EVALUATOR: {"options": {"words": 40}}},
                    },
                ],
            },
        ],
    }
