"""`waza run --auto-file-issue`: one issue for one failure, by a `gh` that records what it is asked."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest
from tests.support.program import Ended, waza, write_tree

SECRET = "ghp_" + "a1B2" * 9
GH = """\
#!{python}
import json, os, sys
from pathlib import Path

home = Path(os.environ["FAKE_GH"])
words = sys.argv[1:]
body = sys.stdin.read() if "--body-file" in words else ""
with (home / "calls").open("a") as log:
    log.write(json.dumps([words, body]) + "\\n")
state = home / "issues.json"
issues = json.loads(state.read_text()) if state.exists() else []
verb = words[1]
if (home / "broken").exists():
    sys.exit("gh: not logged in @you")
if verb == "list":
    print(json.dumps([] if "--search" in words else issues))
elif verb == "view":
    print(json.dumps(next(one for one in issues if str(one["number"]) == words[4])))
elif verb == "create":
    number = len(issues) + 1
    issues.append({{"number": number, "url": f"https://github.com/o/r/issues/{{number}}", "body": body, "comments": []}})
    print(issues[-1]["url"])
else:
    next(one for one in issues if str(one["number"]) == words[4])["comments"].append({{"body": body}})
state.write_text(json.dumps(issues))
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    suite = {
        "name": f"review @suite {SECRET}",
        "config": {"executor": "mock", "model": "m"},
        "graders": [{"type": "text", "name": "names-it", "config": {"contains": ["bug"]}}],
        "tasks": ["tasks/*.yaml"],
    }
    output = json.dumps(f"@someone look <img src=x> {SECRET} # 12")
    write_tree(
        tmp_path,
        {
            "suite/eval.yaml": json.dumps(suite),
            "suite/tasks/bad.yaml": f"{{id: bad, name: 'bad | @all', inputs: {{prompt: p}}, mock: {{output: {output}}}}}",
            "suite/tasks/good.yaml": "{id: good, inputs: {prompt: p}, mock: {output: a bug}}",
            "bin/gh": GH.format(python=sys.executable),
        },
    )
    (tmp_path / "bin/gh").chmod(0o755)
    return tmp_path


def run(workspace: Path, *options: str, **env: str) -> Ended:
    path = f"{workspace / 'bin'}{os.pathsep}{os.environ['PATH']}"
    variables = {
        "PATH": path,
        "FAKE_GH": str(workspace),
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_ACTIONS": "",
        **env,
    }
    return waza("run", "suite/eval.yaml", *(options or ("--auto-file-issue",)), cwd=workspace, env=variables)


def calls(workspace: Path) -> list[tuple[list[str], str]]:
    log = workspace / "calls"
    return [tuple(json.loads(line)) for line in log.read_text().splitlines()] if log.exists() else []


def verbs(workspace: Path) -> list[str]:
    return [words[1] for words, _ in calls(workspace)]


def test_one_issue_for_one_failure(workspace):
    done = run(workspace)
    assert done.code == 1
    assert "Issue filed: https://github.com/o/r/issues/1" in done.err
    words, body = calls(workspace)[-1]
    assert words[:4] == ["issue", "create", "--repo", "o/r"]
    assert "waza: 1 task did not pass: review @\u2060suite [REDACTED]" in words
    marker = re.search(r"waza-auto-triage:[0-9a-f]{12}", body)
    assert marker
    assert f'"{marker[0]}" in:body' in calls(workspace)[0][0]

    again = run(workspace)
    assert (
        again.code,
        "The same failure is filed already: https://github.com/o/r/issues/1" in again.err,
    ) == (1, True)
    assert verbs(workspace) == ["list", "list", "create", "list", "list", "view"]

    (workspace / "suite/tasks/good.yaml").write_text("{id: good, inputs: {prompt: p}, mock: {error: away}}")
    other = run(workspace)
    assert "Issue commented on: https://github.com/o/r/issues/1" in other.err
    assert verbs(workspace)[-2:] == ["view", "comment"]
    assert marker[0] in calls(workspace)[-1][1]
    assert "The same failure is filed already" in run(workspace).err
    assert verbs(workspace).count("create") + verbs(workspace).count("comment") == 2


def test_what_is_filed_is_redacted_and_harmless(workspace):
    run(workspace)
    words, body = calls(workspace)[-1]
    assert SECRET not in json.dumps([words, body])
    outside_of_code = re.sub(r"`[^`]*`", "", body)
    assert not re.search(r"[@#](?![\u2060# ])\w", outside_of_code)
    assert "<img" not in outside_of_code
    assert "- Failed: 1\n- Errors: 0\n" in body
    assert "- Models: m\n" in body
    assert "bad \\| @\u2060all" in body
    assert "### What to do" in body


def test_nothing_is_filed_where_everything_passed(workspace):
    (workspace / "suite/tasks/bad.yaml").unlink()
    done = run(workspace)
    assert (done.code, calls(workspace)) == (0, [])


@pytest.mark.parametrize(
    ("env", "reason"),
    [
        ({"GITHUB_REPOSITORY": ""}, "it is not set"),
        ({"GITHUB_REPOSITORY": "--web"}, "'--web' is not owner/name"),
        ({"PATH": "/usr/bin/none"}, "the program gh is not installed"),
    ],
)
def test_what_is_missing_is_a_warning_and_the_issue_is_printed(workspace, env, reason):
    done = run(workspace, **env)
    assert (done.code, calls(workspace)) == (1, [])
    assert f"warning: no issue was filed: {reason}" in done.err or reason in done.err
    assert "The issue:\n\nwaza: 1 task did not pass: review" in done.err
    assert SECRET not in done.err


def test_a_gh_that_refuses_changes_nothing(workspace):
    (workspace / "broken").touch()
    done = run(workspace)
    assert done.code == 1
    assert "warning: no issue was filed: gh issue list: gh: not logged in @you" in done.err
    assert (workspace / ".waza/runs").is_dir()


def test_a_preview_files_nothing(workspace):
    done = run(workspace, "--print-issue")
    assert (done.code, calls(workspace)) == (1, [])
    assert "waza-auto-triage:" in done.err


def test_suites_that_did_not_start_are_failures(workspace):
    write_tree(
        workspace,
        {
            "skills/a/SKILL.md": "---\nname: a\ndescription: d\n---\n",
            "skills/a/eval.yaml": "{tasks: 3}",
            "skills/b/SKILL.md": "---\nname: b\ndescription: d\n---\n",
            "skills/b/eval.yaml": "{config: {executor: mock}, tasks: [../../suite/tasks/good.yaml]}",
        },
    )
    path = f"{workspace / 'bin'}{os.pathsep}{os.environ['PATH']}"
    env = {"PATH": path, "FAKE_GH": str(workspace), "GITHUB_REPOSITORY": "o/r"}
    done = waza("run", "--discover", "skills", "--auto-file-issue", cwd=workspace, env=env)
    assert done.code == 2
    assert "Issue filed" in done.err
    assert "waza preflight" in calls(workspace)[-1][1]
