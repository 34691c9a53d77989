"""`waza tokens`: sizes, limits, structure and savings of a planted directory, and comparisons of real commits."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.program import Ended, strict_json, waza, write_tree

CORPUS = Path(os.environ.get("WAZA_CORPUS", Path(__file__).parents[3] / "shared" / "corpus"))
LONG = "The quick brown fox jumps over the lazy dog.\n" * 60
SKILL = """\
---
name: planted
description: Plants things.
---
# Planted

## First

1. Dig.
2. Plant.

## Second

```sh
water
```
"""
VERBOSE = """\
---
name: verbose
---
# Verbose \U0001f680 \U0001f389 ✨

This line is repeated word for word.
This line is repeated word for word.

```
{code}
```

| a |
|---|
{rows}

---

x

***

y

___

z

---
""".format(code="\n".join(map(str, range(13))), rows="\n".join(f"| {n} |" for n in range(12)))
TREE = {
    "README.md": "# Read me\r\nTwo lines",
    "skills/planted/SKILL.md": SKILL,
    "skills/planted/references/deep/long.md": LONG * 3,
    "skills/planted/notes.mdx": "日本語\n",
    "skills/planted/node_modules/x/README.md": LONG,
    "skills/planted/ignored.txt": LONG,
    "skills/verbose/SKILL.md": VERBOSE,
    ".waza.yaml": "tokens: {warningThreshold: 60}\n",
}


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "planted", TREE)


def tokens(cwd: Path, *arguments: str | Path) -> Ended:
    return waza("tokens", *arguments, cwd=cwd)


def git(directory: Path, *arguments: str | Path) -> None:
    identity = ("-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *identity, *map(str, arguments)], cwd=directory, check=True, capture_output=True)


def commit(directory: Path) -> None:
    git(directory, "add", "--all")
    git(directory, "commit", "--message", "x")


def test_count_of_everything_below_the_current_directory(planted):
    done = tokens(planted, "count")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "File                                    Tokens  Chars  Lines",
        "--------------------------------------  ------  -----  -----",
        "README.md                                    6     19      2",
        "skills/planted/SKILL.md                     36    117     16",
        "skills/planted/notes.mdx                     3      4      1",
        "skills/planted/references/deep/long.md   1,800  8,100    180",
        "skills/verbose/SKILL.md                    127    267     52",
        "Total                                    1,972  8,507    251",
        "",
        "5 files",
    ]


def test_count_as_json_by_names_and_paths(planted):
    done = tokens(planted, "count", "planted", "README.md", "--format", "json", "--min-tokens", "4")
    document = strict_json(done.out)
    del document["generatedAt"]
    assert document == {
        "tokenizer": "bpe",
        "totalTokens": 1842,
        "totalFiles": 3,
        "files": {
            "README.md": {"tokens": 6, "characters": 19, "lines": 2},
            "skills/planted/SKILL.md": {"tokens": 36, "characters": 117, "lines": 16},
            "skills/planted/references/deep/long.md": {"tokens": 1800, "characters": 8100, "lines": 180},
        },
    }


def test_an_estimate_says_that_it_is_one(planted):
    done = tokens(planted, "count", "--tokenizer", "estimate", "--sort", "tokens", "--no-total")
    lines = done.out.splitlines()
    assert lines[2].split() == ["skills/planted/references/deep/long.md", "2,025", "8,100", "180"]
    assert "Total" not in done.out
    assert lines[-1].startswith("The tokens are estimates")
    document = strict_json(tokens(planted, "count", "--tokenizer", "estimate", "--format", "json").out)
    assert document["tokenizer"] == "estimate"
    assert document["files"]["skills/planted/notes.mdx"] == {"tokens": 3, "characters": 4, "lines": 1}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("count", "--format", "json", "--sort", "name"), "are for tables"),
        (("count", "--format", "json", "--no-total"), "are for tables"),
        (("count", "plantd"), "did you mean 'planted'?"),
        (("count", "plantd.md"), "there is no file or directory plantd.md"),
        (("count", "--min-tokens", "-1"), "is not a whole number from 0 on"),
        (("compare",), "not a git repository"),
        (("compare", "a", "b", "c"), "two commits are compared at most"),
        (("compare", "--threshold", "many"), "is not a percentage"),
    ],
)
def test_what_is_refused(planted, arguments, message):
    done = tokens(planted, *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_nothing_to_count(tmp_path):
    assert tokens(tmp_path, "count").out == "no Markdown files found\n"
    assert strict_json(tokens(tmp_path, "count", "--format", "json").out)["files"] == {}
    (tmp_path / "x.md").write_bytes(b"caf\xe9")
    done = tokens(tmp_path, "count")
    assert done.code == 0
    assert "x.md is not UTF-8" in done.err


def test_limits_skill_by_skill(planted):
    done = tokens(planted, "check", "--format", "json", "--strict")
    assert done.code == 1
    document = strict_json(done.out)
    assert [(one["skill"], one["totalFiles"], one["exceededCount"]) for one in document["skills"]] == [
        ("planted", 3, 1),
        ("verbose", 1, 0),
    ]
    assert document["skills"][0]["results"] == [
        {
            "file": "skills/planted/references/deep/long.md",
            "tokens": 1800,
            "limit": 1000,
            "pattern": "references/**/*.md",
            "exceeded": True,
        },
        {
            "file": "skills/planted/SKILL.md",
            "tokens": 36,
            "limit": 500,
            "pattern": "SKILL.md",
            "exceeded": False,
        },
        {
            "file": "skills/planted/notes.mdx",
            "tokens": 3,
            "limit": 2000,
            "pattern": "",
            "exceeded": False,
        },
    ]


def test_a_file_has_the_same_limit_however_it_is_named(planted):
    long = planted / "skills/planted/references/deep/long.md"
    for cwd, words in (
        (planted, ("planted",)),
        (planted, ("skills/planted/references",)),
        (long.parent, ()),
    ):
        results = strict_json(tokens(cwd, "check", *words, "--format", "json").out)["results"]
        assert (results[0]["tokens"], results[0]["limit"]) == (1800, 1000)


def test_limits_for_people(planted):
    done = tokens(planted, "check", "planted", "--quiet", "--strict")
    assert (done.code, done.err) == (1, "")
    assert done.out.splitlines() == [
        "File                                    Tokens  Limit      Status",
        "--------------------------------------  ------  -----  ----------",
        "skills/planted/references/deep/long.md   1,800  1,000  ✗ 800 over",
        "",
        "1 of 3 files over the limit",
    ]
    quiet = tokens(planted, "check", "verbose", "--quiet", "--strict")
    assert (quiet.code, quiet.out) == (0, "")
    assert tokens(planted, "check").code == 0


def test_limits_of_the_older_file(planted):
    limits = planted / "skills/verbose/.token-limits.json"
    limits.write_text('{"defaults": {"*.md": 7}}')
    done = tokens(planted, "check", "verbose", "--format", "json")
    assert strict_json(done.out)["results"][0]["limit"] == 7
    assert "skills/verbose/.token-limits.json is an older form of limits" in done.err
    limits.write_text("{")
    done = tokens(planted, "check", "--format", "json")
    assert done.code == 2
    planted_skill, verbose = strict_json(done.out)["skills"]
    assert (planted_skill["totalFiles"], "error" in planted_skill) == (3, False)
    assert "cannot be read" in verbose["error"]
    assert "cannot be read" in done.err


def test_profile(planted):
    one = strict_json(tokens(planted, "profile", "planted", "--format", "json").out)
    assert one == {
        "name": "planted",
        "path": "skills/planted/SKILL.md",
        "tokens": 36,
        "tokenizer": "bpe",
        "sections": 2,
        "codeBlocks": 1,
        "workflowSteps": 2,
        "detailLevel": "minimal",
        "warnings": ["it has 2 sections; fewer than 3 say little"],
    }
    several = strict_json(tokens(planted, "profile", "--format", "json").out)
    assert [found["name"] for found in several] == ["planted", "verbose"]
    assert several[1]["warnings"][:2] == [
        "it has no numbered steps",
        "it has 127 tokens; above 60 it is large",
    ]
    (planted / "SKILL.mdx").write_text(
        SKILL.replace("## First", "## A\n\n## B\n\n## C\n\n## D\n\n```\n```\n")
    )
    assert "planted: detailed (SKILL.mdx)" in tokens(planted, "profile", "SKILL.mdx").out


def test_savings(planted):
    done = tokens(planted, "suggest", "verbose", "README.md", "--min-savings", "7", "--format", "json")
    document = strict_json(done.out)
    assert document["totalPotentialSavings"] == 88
    readme, verbose = document["analyses"]
    assert (readme["skill"], readme["suggestions"], readme["lines"]) == ("", [], 2)
    assert verbose["skill"] == "verbose"
    assert [(one["line"], one["issue"], one["estimatedSavings"]) for one in verbose["suggestions"]] == [
        (7, "the text before is repeated", 8),
        (9, "a code block of 13 lines", 48),
        (25, "a table of 12 rows", 24),
        (40, "4 horizontal rules", 8),
    ]
    everything = tokens(planted, "suggest", "--min-savings", "0").out
    assert "line 4: 3 emoji" in everything
    assert "line 1: the file has 1,800 tokens, and its limit is 1,000" in everything
    assert "2 of 5 files could be shorter" in everything


@pytest.fixture
def repository(planted: Path) -> Path:
    git(planted, "init", "--initial-branch", "main")
    (planted / ".gitignore").write_text("ignored.md\n")
    commit(planted)
    write_tree(
        planted,
        {
            "skills/planted/SKILL.md": SKILL + LONG,
            "skills/verbose/ignored.md": LONG,
            "skills/verbose/new é.md": "new\n",
        },
    )
    (planted / "README.md").unlink()
    shutil.move(planted / "skills/planted/references/deep/long.md", planted / "skills/planted/long.md")
    with (planted / "skills/planted/long.md").open("a") as file:
        file.write("One more line.\n")
    return planted


def summary(done: Ended) -> dict[str, tuple[str, int]]:
    return {one["file"]: (one["status"], one["diff"]) for one in strict_json(done.out)["files"]}


def test_the_work_tree_and_the_last_commit(repository):
    done = tokens(repository, "compare", "--format", "json")
    assert (done.code, done.err) == (0, "")
    document = strict_json(done.out)
    assert (document["baseRef"], document["headRef"], document["passed"]) == ("HEAD", "WORKING", True)
    assert document["summary"] == {
        "totalBefore": 1972,
        "totalAfter": 2572,
        "totalDiff": 600,
        "percentChange": 30.43,
        "filesAdded": 1,
        "filesRemoved": 1,
        "filesModified": 2,
        "filesRenamed": 1,
        "filesIncreased": 3,
        "filesDecreased": 1,
        "exceededCount": 0,
        "limitExceeded": True,
        "thresholdBreached": False,
    }
    assert summary(done) == {
        "README.md": ("removed", -6),
        "skills/planted/SKILL.md": ("modified", 600),
        "skills/planted/long.md": ("modified", 4),
        "skills/verbose/new é.md": ("added", 2),
    }
    files = {one["file"]: one for one in document["files"]}
    assert files["README.md"]["after"] is None
    assert files["README.md"]["before"] == {"tokens": 6, "characters": 19, "lines": 2}
    assert files["skills/planted/SKILL.md"]["overLimit"]
    assert files["skills/planted/long.md"]["renamedFrom"] == "skills/planted/references/deep/long.md"
    assert files["skills/verbose/new é.md"]["percentChange"] == 100
    unchanged = tokens(repository, "compare", "--show-unchanged", "--format", "json")
    assert summary(unchanged)["skills/verbose/SKILL.md"] == ("unchanged", 0)


def test_thresholds_and_limits_of_a_comparison(repository):
    assert tokens(repository, "compare", "--threshold", "2000").code == 0
    grown = tokens(repository, "compare", "--threshold", "5")
    assert grown.code == 1
    assert "✗ skills/planted/SKILL.md grew by 1666.7 %, more than 5 %" in grown.out
    assert "new é.md grew" not in grown.out  # it was not there before
    strict = tokens(repository, "compare", "--strict")
    assert strict.code == 1
    assert "✗ skills/planted/SKILL.md is over its limit of 500 by 136" in strict.out
    assert "skills/planted/long.md was skills/planted/references/deep/long.md" in strict.out


def test_commits_below_a_directory_and_only_skills(repository):
    commit(repository)
    assert summary(
        tokens(repository / "skills/planted", "compare", "HEAD~1", "HEAD", "--format", "json")
    ) == {
        "SKILL.md": ("modified", 600),
        "long.md": ("modified", 4),
    }
    back = strict_json(tokens(repository, "compare", "HEAD", "HEAD~1", "--skills", "--format", "json").out)
    assert [(one["file"], one["diff"]) for one in back["files"]] == [("skills/planted/SKILL.md", -600)]
    git(repository, "switch", "--create", "topic")
    (repository / "skills/verbose/SKILL.md").write_text(SKILL)
    commit(repository)
    ours = strict_json(tokens(repository, "compare", "--skills", "--format", "json").out)
    assert (ours["baseRef"], [one["file"] for one in ours["files"]]) == ("main", ["skills/verbose/SKILL.md"])
    done = tokens(repository, "compare", "nowhere")
    assert (done.code, "there is no commit 'nowhere'" in done.err) == (2, True)
    assert tokens(repository, "compare", "--", "--output=x").code == 2


def test_worktrees_and_submodules(repository, tmp_path):
    commit(repository)
    other = tmp_path / "other"
    git(repository, "worktree", "add", other)
    (other / "README.md").write_text("back\n")
    assert summary(tokens(other, "compare", "--format", "json")) == {"README.md": ("added", 2)}
    top = write_tree(tmp_path / "top", {"a.md": "a\n"})
    git(top, "init")
    git(top, "submodule", "add", repository, "sub")
    commit(top)
    (top / "sub/skills/planted/SKILL.md").write_text("changed\n")
    done = tokens(top, "compare", "--format", "json")
    assert (done.code, summary(done)) == (0, {})
    assert done.err == "warning: sub is a repository of its own, which was not looked into\n"
    assert summary(tokens(top / "sub", "compare", "--format", "json")) == {
        "skills/planted/SKILL.md": ("modified", -634)
    }


def test_what_a_sparse_checkout_leaves_out_is_not_removed(repository):
    commit(repository)
    git(repository, "sparse-checkout", "set", "skills/verbose")
    assert not (repository / "skills/planted/SKILL.md").exists()
    assert summary(tokens(repository, "compare", "--format", "json")) == {}


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are any bytes on Linux alone")
def test_names_that_are_not_utf_8(repository):
    (repository / os.fsdecode(b"caf\xe9.md")).write_text("x\n")
    commit(repository)
    (repository / os.fsdecode(b"caf\xe9.md")).write_text("x y\n")
    assert summary(tokens(repository, "compare", "--format", "json")) == {"caf\\xe9.md": ("modified", 1)}
    assert "caf\\xe9.md" in strict_json(tokens(repository, "count", "--format", "json").out)["files"]


def test_before_the_first_commit(tmp_path):
    git(tmp_path, "init")
    done = tokens(tmp_path, "compare")
    assert done.code == 2
    assert "there is no commit 'HEAD'" in done.err


def test_the_corpus():
    files = sorted(path for path in CORPUS.rglob("*") if path.is_file())
    if not files:
        pytest.skip("the corpus is not here; WAZA_CORPUS names its directory")
    done = tokens(CORPUS, "suggest", *files, "--tokenizer", "estimate", "--format", "json")
    assert done.code == 0, done.err
    assert len(strict_json(done.out)["analyses"]) == len(files)
