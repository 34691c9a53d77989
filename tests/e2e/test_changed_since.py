"""`waza run --changed-since REF`: what changed files touch, in real repositories."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.support.program import Ended, strict_json, waza, write_tree

IDENTITY = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main")
TASK = "inputs: {prompt: p, files: [{path: notes.txt}]}\n"
CODE = "graders: [{type: program, name: own, config: {command: checks/own.sh}}]\n"


def skill(name: str) -> str:
    return f"---\nname: {name}\ndescription: says hello\n---\nSay hello.\n"


def suite(name: str, more: str = "") -> str:
    return (
        f"name: {name}\nskill: {name}\nconfig: {{executor: mock, model: m}}\ntasks: ['tasks/*.yaml']\n{more}"
    )


def suite_of(name: str, more: str = "") -> dict[str, str]:
    return {
        f"evals/{name}/eval.yaml": suite(name, more),
        f"evals/{name}/tasks/t.yaml": TASK,
        f"evals/{name}/fixtures/notes.txt": "n\n",
    }


FILES = {
    **{f"skills/{name}/SKILL.md": skill(name) for name in ("ada", "bob", "cy")},
    "skills/ada/references/more.md": "more\n",
    "agents/rev.agent.md": "---\nname: rev\ndescription: reviews\n---\nReview.\n",
    **suite_of("ada"),
    **suite_of("bob", CODE),
    **suite_of("rev"),
    "evals/flow/eval.yaml": "name: flow\nconfig: {executor: mock, model: m}\ntasks: [../../shared/*.yaml]\n",
    "shared/t.yaml": "inputs: {prompt: p}\n",
    "checks/own.sh": "#!/bin/sh\n",
    "README.md": "r\n",
    ".waza.yaml": "tokens: {}\n",
    ".gitignore": "*.log\n",
}


def git(root: Path, *args: str) -> str:
    return subprocess.run(
        ["git", *IDENTITY, *args], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()


def commit(root: Path, message: str = "c") -> str:
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", message)
    return git(root, "rev-parse", "HEAD")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with three skills, two of them with suites, an agent, and a suite of no skill."""
    root = write_tree(tmp_path / "repo", FILES)
    (root / "checks" / "own.sh").chmod(0o755)
    git(root, "init", "-q")
    commit(root)
    return root


def ran(ended: Ended) -> list[str]:
    return sorted(
        line.removeprefix("Benchmark: ") for line in ended.err.splitlines() if line.startswith("Benchmark: ")
    )


def run(root: Path, *args: str, since: str = "main") -> Ended:
    return waza("run", *args, "--changed-since", since, "--no-save", cwd=root)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"skills/ada/SKILL.md": skill("ada") + "x"}, ["ada"]),
        ({"skills/ada/references/more.md": "other"}, ["ada"]),
        ({"skills/ada/scripts/new.py": "new"}, ["ada"]),
        ({"evals/bob/tasks/t.yaml": TASK + "tags: [x]\n"}, ["bob"]),
        ({"evals/bob/tasks/new.yaml": TASK}, ["bob"]),
        ({"evals/bob/fixtures/notes.txt": "other"}, ["bob"]),
        ({"evals/bob/eval.yaml": suite("bob")}, ["bob"]),
        ({"evals/ada/helpers/other.txt": "beside"}, ["ada"]),
        ({"agents/rev.agent.md": FILES["agents/rev.agent.md"] + "x"}, ["rev"]),
        ({"checks/own.sh": "#!/bin/sh\nexit 0\n"}, ["bob"]),
        ({"shared/t.yaml": "inputs: {prompt: q}\n"}, ["flow"]),
        ({"shared/new.yaml": "inputs: {prompt: q}\n"}, ["flow"]),
        ({".waza.yaml": "tokens: {warningThreshold: 400}\n"}, ["ada", "bob", "flow", "rev"]),
        ({"AGENTS.md": "Be kind."}, ["ada", "bob", "flow", "rev"]),
        ({".github/copilot-instructions.md": "Be kind."}, ["ada", "bob", "flow", "rev"]),
        ({".github/instructions/a.instructions.md": "Be kind."}, ["ada", "bob", "flow", "rev"]),
        ({"README.md": "x", "skills/ada/SKILL.md": skill("ada") + "x", "evals/bob/x": ""}, ["ada", "bob"]),
    ],
    ids=lambda value: " ".join(value)[:40],
)  # fmt: skip
def test_what_a_change_touches(repo: Path, changes: Mapping[str, str], expected: list[str]):
    write_tree(repo, changes)
    ended = run(repo, since="HEAD")
    assert (ended.code, ran(ended)) == (0, expected), ended.err
    for name in {"ada", "bob", "flow", "rev"} - set(expected):
        why = "nothing of it changed since HEAD"
        assert f"skipping {name}: {why}" in ended.err
    touching = [path for path in changes if path != "README.md"]
    assert all(f"eval.yaml: {Path(touching[0])}" in ended.err for _ in expected[:1])
    assert ("outside of these suites: README.md\n" in ended.err) == ("README.md" in changes)


def test_a_branch_is_compared_with_where_it_left(repo: Path):
    git(repo, "switch", "-qc", "topic")
    commit(write_tree(repo, {"skills/ada/SKILL.md": skill("ada") + "x"}), "on the branch")
    git(repo, "switch", "-q", "main")
    commit(write_tree(repo, {"evals/bob/tasks/t.yaml": TASK + "tags: [x]\n"}), "by others, meanwhile")
    git(repo, "switch", "-q", "topic")
    left = git(repo, "merge-base", "main", "HEAD")[:7]
    for since in ("main", "main..", "main..HEAD", "main...HEAD", "HEAD~1"):
        ended = run(repo, since=since)
        assert (ended.code, ran(ended)) == (0, ["ada"]), since
        assert f"Changed since {since} ({left}): 1 file\n" in ended.err
    wrong = run(repo, since="HEAD~1..main")
    assert (wrong.code, wrong.out) == (2, "")
    assert wrong.err.endswith(
        "--changed-since HEAD~1..main: only what is checked out can be run; name the commit before, HEAD~1\n"
    )


def test_staged_unstaged_and_new_files_count_and_ignored_ones_do_not(repo: Path):
    write_tree(repo, {"skills/ada/SKILL.md": skill("ada") + "x", "evals/rev/run.log": "ignored"})
    git(repo, "add", "skills")
    write_tree(repo, {"evals/bob/tasks/t.yaml": TASK + "tags: [x]\n", "evals/flow/new ü\n.txt": "n"})
    ended = run(repo, since="HEAD")
    assert ran(ended) == ["ada", "bob", "flow"]
    head = git(repo, "rev-parse", "--short=7", "HEAD")
    assert f"Changed since HEAD ({head}): 3 files\n" in ended.err
    assert str(Path("evals/flow/new ü ")) in ended.err


def test_renamed_and_deleted_files(repo: Path):
    git(repo, "mv", "evals/ada/tasks/t.yaml", "evals/ada/tasks/u.yaml")
    assert ran(run(repo, since="HEAD")) == ["ada"]
    commit(repo)
    (repo / "shared" / "t.yaml").rename(repo / "evals" / "bob" / "tasks" / "v.yaml")
    ended = run(repo, since="HEAD")
    assert ran(ended) == ["bob"]
    assert ended.code == 2, "the other suite is touched as well, and has no task left"
    assert "Not run: flow: its files have mistakes" in ended.err
    git(repo, "checkout", "-q", "--", ".")
    (repo / "evals" / "bob" / "tasks" / "v.yaml").unlink()
    (repo / "skills" / "ada").rename(repo / "skills" / "ida")
    ended = run(repo, since="HEAD")
    assert ran(ended) == ["ada"], "it names a skill that is gone"
    (repo / "evals" / "rev" / "eval.yaml").unlink()
    git(repo, "checkout", "-q", "--", "skills")
    ended = run(repo, since="HEAD")
    assert "outside of these suites: " in ended.err
    assert str(Path("evals/rev/eval.yaml")) in ended.err


def test_nothing_touched_writes_nothing_that_looks_like_a_result(repo: Path):
    commit(write_tree(repo, {"README.md": "x"}))
    (repo / "old.json").write_text("{}", encoding="utf-8")
    base = git(repo, "rev-parse", "--short=7", "HEAD~1")
    outputs = ("-o", "old.json", "--reporter", "junit:new.xml")
    ended = waza("run", *outputs, "--changed-since", "HEAD~1", cwd=repo)
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.endswith(
        f"No suite was touched since HEAD~1 ({base}), of 4 suites looked at; nothing was run\n"
        "old.json is of an earlier run and was not written\n"
    )
    assert not (repo / "new.xml").exists()
    assert not (repo / ".waza").exists()
    printed = waza("run", "ada", "--json", "--changed-since", "HEAD", cwd=repo)
    assert (printed.code, strict_json(printed.out)) == (0, [])
    assert "of 1 suite looked at" in printed.err


def test_what_is_left_out_is_in_the_results(repo: Path):
    write_tree(repo, {"skills/ada/SKILL.md": skill("ada") + "x"})
    ended = waza("run", "ada", "bob", "--changed-since", "HEAD", "-o", "r.json", cwd=repo)
    assert (ended.code, ran(ended)) == (0, ["ada"])
    found = strict_json((repo / "r.json").read_bytes())["metadata"]["invocation"]
    head = git(repo, "rev-parse", "--short=7", "HEAD")
    why = f"nothing of it changed since HEAD ({head}), so nothing of it was run"
    assert found["left_out"] == [{"skill": "bob", "why": why}]


def test_a_suite_at_the_top_has_what_is_in_no_other_suite_and_no_skill(tmp_path: Path):
    top = suite("top").replace("skill: top\n", "")
    files = {**FILES, "eval.yaml": top, "tasks/t.yaml": "inputs: {prompt: p}\n"}
    root = write_tree(tmp_path, files)
    git(root, "init", "-q")
    commit(root)
    write_tree(root, {"README.md": "x"})
    assert ran(run(root, "eval.yaml", since="HEAD")) == ["top"]
    commit(root)
    write_tree(root, {"skills/ada/SKILL.md": "x", "evals/ada/tasks/t.yaml": "x"})
    assert ran(run(root, "eval.yaml", since="HEAD")) == []


def test_what_waza_writes_is_no_change(tmp_path: Path):
    text = "name: top\nconfig: {executor: mock, model: m}\ntasks: ['tasks/*.yaml']\n"
    root = write_tree(tmp_path, {"eval.yaml": text, "tasks/t.yaml": "inputs: {prompt: p}\n"})
    git(root, "init", "-q")
    commit(root)
    outputs = (
        "eval.yaml",
        "--cache",
        "-o",
        "r.json",
        "--reporter",
        "junit:j.xml",
        "--transcript-dir",
        "seen",
    )
    assert waza("run", *outputs, cwd=root).code == 0
    for more, expected in ((outputs, []), (("eval.yaml",), ["top"])):
        assert ran(waza("run", *more, "--changed-since", "HEAD", cwd=root)) == expected


def test_a_submodule_touches_what_is_in_it(repo: Path, tmp_path: Path):
    other = write_tree(tmp_path / "other", {"dee/SKILL.md": skill("dee")})
    git(other, "init", "-q")
    commit(other)
    git(
        repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.as_uri(), "skills/more"
    )
    commit(write_tree(repo, suite_of("dee")))
    inside = repo / "skills" / "more"
    commit(write_tree(inside, {"dee/SKILL.md": skill("dee") + "x"}))
    ended = run(repo, "dee", "ada", since="HEAD")
    assert (ended.code, ran(ended)) == (0, ["dee"]), ended.err


def test_links_lead_to_what_they_mean(repo: Path):
    (repo / "real").mkdir()
    (repo / "skills" / "ada").rename(repo / "real" / "ada")
    (repo / "skills" / "ada").symlink_to(Path("..", "real", "ada"), target_is_directory=True)
    commit(repo)
    write_tree(repo, {"real/ada/SKILL.md": skill("ada") + "x"})
    assert ran(run(repo, "ada", "bob", since="HEAD")) == ["ada"]
    commit(repo)
    elsewhere = repo.parent / "link"
    elsewhere.symlink_to(repo, target_is_directory=True)
    write_tree(repo, {"evals/bob/tasks/t.yaml": TASK + "tags: [x]\n"})
    assert ran(run(elsewhere, "ada", "bob", since="HEAD")) == ["bob"]


def test_what_links_within_a_skill_lead_to_is_part_of_it(repo: Path):
    write_tree(repo, {"common/more.md": "more\n", "common/all/a.md": "a\n"})
    (repo / "skills/ada/references/linked.md").symlink_to("../../../common/more.md")
    (repo / "skills/bob/references").symlink_to("../../common/all", target_is_directory=True)
    commit(repo)
    write_tree(repo, {"common/more.md": "less\n"})
    assert ran(run(repo, "ada", "bob", since="HEAD")) == ["ada"]
    commit(repo)
    write_tree(repo, {"common/all/b.md": "b\n"})
    assert ran(run(repo, "ada", "bob", since="HEAD")) == ["bob"]


def test_a_suite_that_cannot_be_read_is_touched_by_its_files(repo: Path):
    write_tree(repo, {"evals/ada/eval.yaml": "a: [", "evals/bob/x": "x"})
    ended = run(repo, "ada", "bob", since="HEAD")
    assert (ended.code, ran(ended)) == (2, ["bob"])
    assert "Not run: ada: its files have mistakes" in ended.err
    commit(repo)
    write_tree(repo, {"evals/bob/x": "y"})
    assert run(repo, "ada", "bob", since="HEAD").code == 0


def test_no_repository_no_commit_and_no_history(repo: Path, tmp_path: Path):
    outside = write_tree(tmp_path / "outside", FILES)
    shallow = tmp_path / "shallow"
    commit(repo)
    commit(repo)
    git(tmp_path, "clone", "-q", "--depth", "1", repo.as_uri(), "shallow")
    git(repo, "switch", "-q", "--orphan", "alone")
    write_tree(repo, FILES)
    commit(repo)
    for place, since, told in (
        (outside, "main", "--changed-since needs a git repository, and the current directory is in none"),
        (repo, "nowhere", "--changed-since nowhere: there is no commit, branch or tag 'nowhere' in "),
        (repo, "--output=x", "'--output=x' is not a commit; give a hash, a branch or a tag"),
        (repo, "main", "'main' and what is checked out in"),
        (shallow, "HEAD~1", "this is a shallow clone, which has no history back to 'HEAD~1'; fetch all of it with `git fetch --unshallow`"),
    ):  # fmt: skip
        ended = waza("run", f"--changed-since={since}", cwd=place)
        assert (ended.code, ended.out) == (2, ""), since
        assert told in ended.err
        assert not (place / ".waza").exists()


def test_nothing_of_a_hostile_repository_is_run(repo: Path):
    program = repo / "trap.sh"
    program.write_text('#!/bin/sh\ntouch "$0.ran"\ncat\n', encoding="utf-8")
    program.chmod(0o755)
    for key in ("filter.x.clean", "diff.external", "core.fsmonitor", "diff.x.textconv"):
        git(repo, "config", key, str(program))
    write_tree(
        repo, {".gitattributes": "*.yaml filter=x diff=x\n", "evals/ada/tasks/t.yaml": TASK + "tags: [x]\n"}
    )
    ended = run(repo, since="HEAD")
    assert "ada" in ran(ended)
    assert not (repo / "trap.sh.ran").exists()
