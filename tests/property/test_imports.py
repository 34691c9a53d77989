"""Whatever is in the files of other tools, an import is whole or refused with a message; what it writes loads."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from waza.errors import WazaError
from waza.foreign.imported import write_files
from waza.foreign.importing import ImportOptions, import_suites
from waza.kit import yaml
from waza.suite.load import load

SKILL = "---\nname: s\ndescription: d\n---\nDo.\n"
TEXTS = st.sampled_from(
    [
        "",
        "x",
        "{{.Vars.x}}",
        '{{"{{"}}',
        "../x",
        "/x",
        "a\nb",
        "\u2028",
        "😀\ud800",
        "no",
        "1.10",
        "- a: [",
        "x" * 300,
    ]
) | st.text(max_size=12)
SCALARS = (
    st.none() | st.booleans() | st.integers(-2, 60) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
)


def maps(*keys: str, values: Any) -> Any:
    return st.dictionaries(st.sampled_from(keys) | st.text(max_size=5), values, max_size=5)


NESTED = (
    SCALARS
    | st.lists(SCALARS, max_size=3)
    | maps("name", "id", "description", "check", "tool", "path", "source", values=SCALARS)
)
EVALS = st.lists(
    maps("id", "name", "prompt", "expected_output", "expectations", "assertions", "files", values=NESTED)
    | SCALARS,
    max_size=3,
)
GRADERS = maps(
    *(
        "type",
        "pattern",
        "flags",
        "match",
        "target",
        "tool",
        "min",
        "max",
        "input_match",
        "before",
        "after",
        "path",
        "exists",
        "criteria",
    ),
    *("focus", "baseline_file", "weight", "arm", "name"),
    values=NESTED
    | st.sampled_from(
        ["regex", "tool_used", "tool_order", "file_exists", "llm", "baseline", "Skill", "count:2", "im"]
    ),
)
GOOD_GRADERS = st.one_of(
    st.fixed_dictionaries(
        {
            "type": st.just("regex"),
            "pattern": TEXTS,
            "flags": st.sampled_from(["", "i", "ims", "g", "zz"]),
            "match": st.sampled_from(["contains", "not_contains", "count:0"]),
            "target": st.sampled_from(["last_message", "trace"])
            | st.fixed_dictionaries({"source": st.just("file"), "path": TEXTS}),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("tool_used"),
            "tool": TEXTS | st.just("Skill"),
            "input_match": st.none() | TEXTS,
            "min": st.integers(0, 2),
            "max": st.none() | st.integers(0, 2),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("tool_order"),
            "before": TEXTS,
            "after": st.fixed_dictionaries({"tool": TEXTS, "input_match": TEXTS}),
        }
    ),
    st.fixed_dictionaries({"type": st.just("file_exists"), "path": TEXTS, "exists": st.booleans()}),
    st.fixed_dictionaries(
        {"type": st.just("llm"), "criteria": TEXTS, "weight": st.sampled_from([1, 0.5, 3])}
    ),
)
GOOD_EVALS = st.fixed_dictionaries(
    {
        "id": TEXTS | st.integers(0, 99),
        "prompt": TEXTS,
        "name": TEXTS,
        "expected_output": TEXTS,
        "expectations": st.lists(TEXTS, max_size=2),
        "assertions": st.lists(st.fixed_dictionaries({"name": TEXTS, "check": TEXTS}), max_size=2),
    }
)
GOOD_KEYS = st.fixed_dictionaries(
    {
        "name": TEXTS,
        "runs": st.integers(1, 3),
        "model": TEXTS,
        "tags": st.lists(TEXTS, max_size=2),
        "env": st.dictionaries(st.just("EVAL_A"), TEXTS),
        "append_system_prompt": TEXTS,
        "description": TEXTS,
    }
)
KEYS = maps(
    "name",
    "runs",
    "model",
    "tags",
    "env",
    "plugins",
    "timeout_seconds",
    "allowed_tools",
    "append_system_prompt",
    values=NESTED,
)


def check(root: Path, origin: Path) -> None:
    try:
        imported = import_suites(origin, ImportOptions())
        write_files(root / "made", imported.render(root / "made"))
    except WazaError:
        return
    for name in imported.suite_files():
        load(root / "made" / name)


@settings(max_examples=60, deadline=None)
@given(EVALS | st.lists(GOOD_EVALS, max_size=2), st.booleans())
def test_evals(evals: Any, queries: bool) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        (root / "evals").mkdir()
        (root / "SKILL.md").write_text(SKILL)
        document = (
            [{"query": "q", "should_trigger": True}, *evals]
            if queries
            else {"evals": [{"prompt": "p"}, *evals]}
        )
        (root / "evals/x.json").write_text(json.dumps(document), "utf-8")
        check(root, root / "evals/x.json")


@settings(max_examples=60, deadline=None)
@given(GOOD_KEYS | KEYS, GOOD_GRADERS | GRADERS, GOOD_GRADERS | GRADERS, TEXTS, st.booleans())
def test_cases(keys: Any, first: Any, second: Any, body: str, whole: bool) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        (root / "c/graders").mkdir(parents=True)
        frontmatter = f"---\n{yaml.dump(keys) if keys else ''}---\n{body}"
        (root / "c/prompt.md").write_text(frontmatter, "utf-8", "replace")
        (root / "c/graders/g.md").write_text(f"---\n{json.dumps(first)}\n---\n{body}", "utf-8", "replace")
        if whole:
            case = {"schema_version": "1.1", "name": "n", "graders": [second]}
            (root / "c/case.yaml").write_text(json.dumps(case), "utf-8")
        check(root, root / "c")
