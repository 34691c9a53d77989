"""What agents, programs and files say, in every channel that waza prints to or writes documents for."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.support.program import Ended, strict_json, waza, write_tree

from waza.kit.unsafe_text import escape_unsafe

COMMANDS = (
    "::add-mask::a", "::error::b", "::stop-commands::t", "##vso[task.complete result=Succeeded;]c",
    "##[error]d", "##teamcity[e]",
)  # fmt: skip
SIGNS = "\x1b]0;t\x07 \x9b2J \u202e \u200f \u061c \ufeff \U000e0041 a\u200b\u00ad\U000e0141"
EVIL = "said\n" + "\n  ".join(COMMANDS) + "\n--- Deploy\n+++ Open\n~~~ Muted\n" + SIGNS
AGENT = """\
import sys
if "bad" in sys.stdin.read():
    sys.stderr.buffer.write(open("evil.txt", "rb").read())
    sys.exit(3)
sys.stdout.buffer.write(open("evil.txt", "rb").read())
"""


def assert_harmless(text: str) -> None:
    """Nothing in a text is a command, or steers; `escape_unsafe` is tested apart."""
    assert escape_unsafe(text) == text


def quoted(text: str) -> str:
    """A YAML scalar."""
    return '"' + "".join(char if char.isalnum() else f"\\U{ord(char):08x}" for char in text) + '"'


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("evil")
    name, bad = quoted(EVIL), quoted("bad " + EVIL)
    shows = "cat evil.txt; cat evil.txt >&2"
    write_tree(
        root,
        {
            "agent.py": AGENT,
            "evil.txt": EVIL,
            "eval.yaml": f"""
name: {name}
config:
  executor: command
  model: {name}
  executor_options: {{command: 'cd "$WAZA_SUITE_DIR" && python3 agent.py'}}
hooks:
  before_run: [{{command: "{shows}; exit 1", error_on_fail: false}}]
  after_task: [{{command: "{shows}"}}]
graders:
  - {{type: text, name: {name}, config: {{contains: [{name}, nope]}}}}
  - {{type: program, name: p, config: {{command: sh, args: [-c, "cat >&2; exit 1"]}}}}
tasks: [good.yaml, bad.yaml]
{quoted("unknown " + EVIL)}: 1
""",
            "good.yaml": f"id: good\nname: {name}\ninputs: {{prompt: {name}}}\n",
            "bad.yaml": f"id: bad\nname: {bad}\ninputs: {{prompt: bad}}\n",
        },
    )
    return root


@pytest.fixture(scope="module")
def ended(suite: Path) -> Ended:
    reports = (
        "--reporter",
        "junit:out.xml",
        "--reporter",
        "markdown:out.md",
        "--reporter",
        "html:out.html",
        "--session-log",
        "-o",
        "out.json",
    )
    done = waza("run", "eval.yaml", "-v", *reports, cwd=suite)
    assert done.code == 1, done.err
    return done


def test_console_report_and_progress(ended: Ended):
    assert "add-mask" in ended.out
    assert "[hook:after_task] : :error::b" not in ended.err, "there a command is not at the start of a line"
    assert "# #vso[task.complete" in ended.err
    for text in (ended.out, ended.err):
        assert_harmless(text)


def test_documents(ended: Ended):
    junit = (ended.cwd / "out.xml").read_text(encoding="utf-8")
    page = (ended.cwd / "out.html").read_text(encoding="utf-8")
    body = page.partition("<body>")[2].partition("<script>")[0]
    for text in (junit, (ended.cwd / "out.md").read_text(encoding="utf-8"), body):
        assert "add-mask" in text
        assert_harmless(text)
    for element in ET.fromstring(junit).iter():  # noqa: S314  # our own document
        for value in (element.text or "", *element.attrib.values()):
            assert_harmless(value)


def test_a_file_of_data_keeps_the_text(ended: Ended):
    runs = [task["runs"][0] for task in strict_json((ended.cwd / "out.json").read_bytes())["tasks"]]
    assert EVIL in {run["final_output"] for run in runs}


@pytest.mark.parametrize(
    "call",
    [
        ("run", "eval.yaml", "--no-save", "--format", "github-comment"),
        ("preflight", "eval.yaml"),
        ("run", "eval.yaml", "--no-save", "--model", EVIL.replace("\x9b", ""), "--model", "b"),
        ("run", "eval.yaml", "--no-save", "--task", EVIL),
        ("run", EVIL),
        ("compare", EVIL, EVIL),
        ("grade", "eval.yaml", "--results", EVIL),
        (EVIL,),
        ("--debug", "m365", "validate", EVIL),
        ("m365", "run", "document.json", "--agent", "mock", "--log-level", "debug"),
    ],
    ids=lambda call: call[0] if len(call[0]) < 20 else "unknown command",
)
def test_other_reports_and_messages(suite: Path, call: tuple[str, ...]):
    score = {
        "schemaVersion": "1.4.0",
        "metadata": {"name": EVIL},
        "items": [{"prompt": EVIL, "expected_response": EVIL}],
    }
    (suite / "document.json").write_text(json.dumps(score), encoding="utf-8")
    done = waza(*call, cwd=suite)
    assert done.out + done.err
    assert_harmless(done.out + "\n" + done.err)


@pytest.mark.parametrize(
    "call", [("run", "eval.yaml", "--no-save", "--json"), ("preflight", "eval.yaml", "--json")]
)
def test_printed_json_is_the_same_data_in_a_harmless_form(suite: Path, call: tuple[str, ...]):
    done = waza(*call, cwd=suite)
    assert_harmless(done.out)
    assert EVIL in texts_of(strict_json(done.out))


def texts_of(data: object) -> set[str]:
    if isinstance(data, dict):
        return set().union(*map(texts_of, data.values()))
    if isinstance(data, list):
        return set().union(*map(texts_of, data))
    return {data} if isinstance(data, str) else set()


def test_result_documents_of_agents(suite: Path):
    item: dict[str, object] = {"prompt": EVIL, "response": EVIL, "expected_response": EVIL}
    item |= {"evaluators_mode": "replace", "evaluators": {"ExactMatch": {}}}
    document = {"schemaVersion": "1.4.0", "metadata": {"name": EVIL}, "items": [item]}
    (suite / "recorded.json").write_text(json.dumps(document), encoding="utf-8")
    done = waza(
        "m365",
        "run",
        "recorded.json",
        "--agent",
        "recorded",
        "-o",
        "r.html",
        "-o",
        "r.csv",
        "--no-save",
        cwd=suite,
    )
    assert done.code in (0, 1), done.err
    assert_harmless(done.out + done.err)
    page = (suite / "r.html").read_text(encoding="utf-8")
    assert_harmless(page.partition("<body>")[2].partition("<script>")[0])
    assert_harmless((suite / "r.csv").read_text(encoding="utf-8-sig"))
