"""Documents judged in two environments: the one of the tests, and one that has the real promptflow."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.model_server import ModelServer, Reply, Request
from tests.support.program import Ended, strict_json, waza, write_tree

_REAL = Path(__file__).parents[2] / ".venv" / "promptflow"

PYTHON = {"builtin": Path(sys.executable), "promptflow": _REAL / "bin" / "python"}
"""The interpreter of each environment, by what `load_flow` is there when nothing else is asked for."""

WITH_REAL = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (_REAL / ".installed").exists(),
        reason="there is no environment with the real promptflow: run `make promptflow`",
    ),
]
"""The marks of a test that needs the real promptflow, whose import takes seconds."""


@dataclass(frozen=True)
class Judged:
    """How a run ended, the scores of each item, and what the model was asked."""

    ended: Ended
    scores: list[dict[str, Any]]
    asked: list[Request]


def judged(
    root: Path,
    runtime: str,
    items: Sequence[Mapping[str, Any]],
    *flags: str,
    judge: str = "openai",
    replies: Mapping[str, Sequence[Reply]],
) -> Judged:
    """Run items that have their responses and name all their evaluators, in an environment of `PYTHON`.

    `root` is the directory of the call; the home and the temporary files of its user are below it.
    """
    write_tree(root, {"evals.json": json.dumps({"schemaVersion": "1.7.0", "items": items})})
    home, temporary = root / "home", root / "temporary"
    home.mkdir()
    temporary.mkdir()
    with ModelServer(replies) as server:
        ended = waza(
            *("m365", "run", "--agent", "recorded", "--judge", judge, "-o", "result.json"),
            *("--log-level", "debug", *flags),
            cwd=root,
            env={**judge_variables(judge, server), "HOME": str(home), "TMPDIR": str(temporary)},
            python=PYTHON[runtime],
        )
    result = root / "result.json"
    assert result.exists(), ended.out + ended.err
    scores = [item["scores"] for item in strict_json(result.read_bytes())["items"]]
    return Judged(ended, scores, [request for request in server.requests if request.turn])


def judge_variables(judge: str, server: ModelServer) -> dict[str, str]:
    """The variables that make a scripted server the judge `openai` or `azure`; none for another name."""
    direct = {"NO_PROXY": "127.0.0.1"}  # a proxy of this machine cannot reach the server
    if judge == "openai":
        return {**direct, "OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "k", "OPENAI_MODEL": "m"}
    if judge != "azure":
        return {}
    return {
        **direct,
        "AZURE_AI_OPENAI_ENDPOINT": server.base_url.removesuffix("/v1"),
        "AZURE_AI_API_KEY": "k",
        "AZURE_AI_MODEL_NAME": "m",
        "AZURE_AI_API_VERSION": "2024-12-01-preview",
    }
