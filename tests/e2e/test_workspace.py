"""Workspaces: what stands in them, that each attempt has its own, and that nothing leads out of them."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.support.live import Project, nap, survivors
from tests.support.program import mock_suite, newest_results, write_tree


def look(script: str, name: str = "look") -> str:
    """A grader that runs a script in the workspace and keeps what it prints."""
    quoted = f'cd "$WAZA_WORKSPACE_DIR" || exit 9; {script}'.replace("'", "''")
    return f"{{type: program, name: {name}, config: {{command: sh, args: ['-c', '{quoted}']}}}}"


SHOW = look('find . -type f -not -name .git | sort | while read f; do echo "$f=$(cat $f)"; done')


def tasks_of(project: Project) -> dict[str, Any]:
    return {one["test_id"]: one for one in newest_results(project.home)["tasks"]}


def run_of(project: Project, task: str, number: int = 1) -> Any:
    return tasks_of(project)[task]["runs"][number - 1]


def seen(run: Any, grader: str = "look") -> list[str]:
    return str(run["validations"][grader]["details"]["stdout"]).splitlines()


def git(directory: Path, *args: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", *identity, *args], cwd=directory, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def repository(root: Path, *versions: dict[str, str]) -> Path:
    """A git repository with one commit, tagged v1, v2, ..., for each of the versions."""
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    for number, files in enumerate(versions, 1):
        write_tree(root, files)
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", f"version {number}")
        git(root, "tag", f"v{number}")
    return root


def worktrees(root: Path) -> list[str]:
    """The worktrees that git knows, besides the repository itself."""
    lines = git(root, "worktree", "list", "--porcelain").splitlines()
    return [line.removeprefix("worktree ") for line in lines if line.startswith("worktree ")][1:]


def test_what_is_in_it_and_in_which_order(project: Project):
    repository(project.home / "repo", dict.fromkeys(("a", "b", "c", "d", "e/f"), "repo"))
    files = {f"given/{name}": "context" for name in ("b", "c", "d", "deep/er/g")}
    files |= {f"fixtures/{name}": "fixture" for name in ("c", "d", "rules/own.md")}
    files |= {"fixtures/d": "instruction", "fixtures/suite.md": "suite"}
    text = (
        "inputs:\n  prompt: p\n  context: {fixture: given}\n  repos: [{type: worktree, source: repo}]\n"
        "  files: [{path: c}, {path: d, content: inline}, {path: 'new/grüße.txt', content: ü}, {content: ignored}]\n"
        f"instruction_files: [d, rules/own.md]\ngraders: [{SHOW}]"
    )
    suite = mock_suite(write_tree(project.home, files), {"t": text}, config=["instruction_files: [suite.md]"])
    ended = project.run("run", suite)
    assert ended.code == 0, ended.err
    assert seen(run_of(project, "t")) == [
        "./a=repo",
        "./b=context",
        "./c=fixture",
        "./d=instruction",
        "./deep/er/g=context",
        "./e/f=repo",
        "./new/grüße.txt=ü",
        "./rules/own.md=fixture",
        "./suite.md=suite",
    ]
    said = run_of(project, "t")["final_output"]
    assert "Analyzed 7 file(s):" in said
    assert "Context:\n  fixture: given" in said
    assert project.left == []
    assert worktrees(project.home / "repo") == []


def test_each_attempt_and_trial_has_a_fresh_one_and_originals_stay(project: Project):
    spoiling = [
        f"    - {{output: no, files: [{{path: given.txt, content: spoilt}}, {{path: left-{n}, content: x}}], delete: [deep/gone.txt]}}"
        for n in range(4)
    ]
    text = "\n".join(
        [
            "inputs: {prompt: p, files: [{path: given.txt}, {path: deep/gone.txt}]}",
            "mock:",
            "  executions:",
            *spoiling,
            f"graders: [{SHOW}, {{type: text, name: t, config: {{contains: ['yes']}}}}]",
        ]
    )
    files = {"fixtures/given.txt": "given", "fixtures/deep/gone.txt": "there"}
    suite = mock_suite(
        write_tree(project.home, files), {"t": text}, config=["trials_per_task: 2", "max_attempts: 2"]
    )
    assert project.run("run", suite).code == 1
    first, second = tasks_of(project)["t"]["runs"]
    assert seen(first) == ["./given.txt=spoilt", "./left-1=x"]
    assert seen(second) == ["./given.txt=spoilt", "./left-3=x"]
    assert first["workspace_dir"] != second["workspace_dir"]
    assert (project.home / "fixtures/given.txt").read_text() == "given"
    assert (project.home / "fixtures/deep/gone.txt").read_text() == "there"


def test_only_what_needs_one_has_one(project: Project):
    grader = "{type: text, name: t, config: {contains: [Mock]}}"
    tasks = {
        "bare": f"inputs: {{prompt: p}}\ngraders: [{grader}]",
        "writes": "inputs: {prompt: p}\nmock: {files: [{path: a, content: b}]}",
        "looks": f"inputs: {{prompt: p}}\ngraders: [{look('ls -A')}]",
    }
    suite = mock_suite(project.home, tasks)
    assert project.run("run", suite).code == 0
    assert "workspace_dir" not in run_of(project, "bare")
    assert run_of(project, "writes")["workspace_dir"].startswith(str(project.temp))
    assert seen(run_of(project, "looks")) == []


def test_links_in_fixtures_are_never_followed_out(project: Project):
    outside = write_tree(project.temp.parent / "outside", {"secret.txt": "secret"})
    given = write_tree(project.home / "given", {"fine.txt": "fine", "sub/also.txt": "also"})
    (given / "link").symlink_to(outside / "secret.txt")
    (given / "sub/loop").symlink_to(given)
    (given / "sub/dir").symlink_to(outside)
    os.mkfifo(given / "pipe")
    text = f"inputs: {{prompt: p, context: {{fixture: given}}}}\ngraders: [{SHOW}]"
    suite = mock_suite(project.home, {"t": text})
    assert project.run("run", suite).code == 0
    assert seen(run_of(project, "t")) == ["./fine.txt=fine", "./sub/also.txt=also"]


@pytest.mark.parametrize(
    ("inputs", "why"),
    [
        ("files: [{path: link}]", "'link' leads outside of"),
        ("files: [{path: dir/secret.txt}]", "'dir/secret.txt' leads outside of"),
        ("files: [{path: ../secret.txt}]", "climbs with `..`"),
        ("files: [{path: /etc/passwd}]", "is absolute"),
        ("files: [{path: ../x, content: y}]", "climbs with `..`"),
        ("files: [{path: missing.txt}]", "there is no file 'missing.txt'"),
        ("files: [{path: sub}]", "'sub' is a directory"),
        ("context: {fixture: fixtures/link}", "leads outside of the suite's directory"),
        ("context: {fixture: .}", "is the suite's own directory"),
        ("context: {fixture: ../outside}", "climbs with `..`"),
        ("context: {fixture: none}", "there is no 'none' beside the suite"),
        ("repos: [{type: worktree, source: ., dest: ../x}]", "climbs with `..`"),
        ("workdir: ../x", "climbs with `..`"),
    ],
)
def test_inputs_that_lead_out_or_are_missing_are_refused(project: Project, inputs: str, why: str):
    outside = write_tree(project.temp.parent / "outside", {"secret.txt": "secret"})
    fixtures = write_tree(project.home / "fixtures", {"sub/a": "b"})
    (fixtures / "link").symlink_to(outside / "secret.txt")
    (fixtures / "dir").symlink_to(outside)
    ended = project.run("run", mock_suite(project.home, {"t": f"inputs: {{prompt: p, {inputs}}}"}))
    assert ended.code == 2
    assert why in ended.err
    assert "tasks/t.yaml:1:" in ended.err


def test_a_file_that_a_hook_makes_is_there_and_one_that_it_does_not_is_an_error(project: Project):
    hooks = "hooks: {before_run: [{command: 'mkdir -p fixtures; echo made > fixtures/made.txt'}]}"
    tasks = {
        "made": f"inputs: {{prompt: p, files: [{{path: made.txt}}]}}\ngraders: [{SHOW}]",
        "missing": "inputs: {prompt: p, files: [{path: missing.txt}]}",
    }
    ended = project.run("run", mock_suite(project.home, tasks, hooks))
    assert ended.code == 1
    assert "there is no file 'missing.txt'" in ended.err
    assert seen(run_of(project, "made")) == ["./made.txt=made"]
    missing = run_of(project, "missing")
    assert missing["status"] == "error"
    assert "there is no file 'missing.txt'" in missing["error_msg"]
    assert missing["prompt"] == "p"
    assert project.left == []


def test_a_script_that_leads_out_or_cannot_write_is_an_error_of_its_run(project: Project):
    outside = write_tree(project.temp.parent / "outside", {"secret.txt": "secret"})
    repo = repository(project.home / "repo", {"a": "a", "d/e": "e"})
    (repo / "out").symlink_to(outside)
    (repo / "secret").symlink_to(outside / "secret.txt")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "links")
    inputs = "inputs: {prompt: p, repos: [{type: worktree, source: repo}]}"
    tasks = {
        "a-through": f"{inputs}\nmock: {{files: [{{path: out/new.txt, content: x}}]}}",
        "b-link": f"{inputs}\nmock: {{files: [{{path: secret, content: x}}]}}",
        "c-delete": f"{inputs}\nmock: {{delete: [out/secret.txt]}}",
        "d-directory": f"{inputs}\nmock: {{files: [{{path: d, content: x}}]}}",
        "e-below-a-file": f"{inputs}\nmock: {{files: [{{path: a/b, content: x}}]}}",
        "f-delete-directory": f"{inputs}\nmock: {{delete: [d]}}",
        "g-fine": f"{inputs}\nmock: {{files: [{{path: d/f/g, content: x}}], delete: [a, never-there]}}",
    }
    ended = project.run("run", mock_suite(project.home, tasks))
    assert ended.code == 1, ended.err
    statuses = {name: task["status"] for name, task in tasks_of(project).items()}
    assert statuses == {name: "passed" if name == "g-fine" else "error" for name in tasks}
    for name in ("a-through", "b-link", "c-delete"):
        assert "leads outside of the workspace" in run_of(project, name)["error_msg"]
    for name in ("d-directory", "e-below-a-file", "f-delete-directory"):
        assert "cannot" in run_of(project, name)["error_msg"]
    assert sorted(path.name for path in outside.iterdir()) == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == "secret"


def test_inputs_do_not_leave_through_links_of_a_worktree(project: Project):
    outside = project.temp.parent / "outside"
    outside.mkdir()
    repo = repository(project.home / "repo", {"a": "a"})
    (repo / "out").symlink_to(outside)
    (repo / "file").symlink_to(outside / "new.txt")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "links")
    root = "{type: worktree, source: repo}"
    tasks = {
        "a-file": f"inputs: {{prompt: p, repos: [{root}], files: [{{path: out/deep/x, content: y}}]}}",
        "b-repo": f"inputs: {{prompt: p, repos: [{root}, {{type: worktree, source: repo, dest: out/tree}}]}}",
        "c-repo-below-a-file": f"inputs: {{prompt: p, repos: [{root}, {{type: worktree, source: repo, dest: a/tree}}]}}",
        "d-workdir": f"inputs: {{prompt: p, repos: [{root}], workdir: out}}",
        "e-replaced": (
            f"inputs: {{prompt: p, repos: [{root}], files: [{{path: file, content: mine}}]}}\n"
            f"graders: [{look('cat file')}]"
        ),
    }
    ended = project.run("run", mock_suite(project.home, tasks))
    assert ended.code == 1, ended.err
    statuses = {name: task["status"] for name, task in tasks_of(project).items()}
    assert statuses == {name: "passed" if name == "e-replaced" else "error" for name in tasks}
    assert "leads outside of the workspace" in run_of(project, "a-file")["error_msg"]
    assert "leads outside of the workspace" in run_of(project, "b-repo")["error_msg"]
    assert "leads outside of the workspace" in run_of(project, "d-workdir")["error_msg"]
    assert seen(run_of(project, "e-replaced")) == ["mine"]
    assert list(outside.iterdir()) == []
    assert worktrees(repo) == []
    assert project.left == []


def test_worktrees_of_a_commit_a_tag_a_branch_and_the_head(project: Project):
    repo = repository(project.home / "repo", {"v": "one\n"}, {"v": "two\n"}, {"v": "three\n"})
    git(repo, "branch", "old", "v2")
    write_tree(repo, {"uncommitted": "x"})
    first = git(repo, "rev-parse", "v1")
    wanted = {"head": "", "tag": "v2", "branch": "old", "commit": first}
    tasks = {
        name: (
            f"inputs:\n  prompt: p\n  repos:\n    - {{type: worktree, source: {repo}, commit: '{commit}', dest: src/tree}}\n"
            f"    - {{type: worktree, source: repo, dest: other}}\n"
            f"  workdir: src/tree\ngraders: [{look('cat src/tree/v other/v; cd src/tree; git status --short --branch')}]"
        )
        for name, commit in wanted.items()
    }
    suite = mock_suite(project.home, tasks, config=["parallel: true", "workers: 4", "trials_per_task: 3"])
    ended = project.run("run", suite)
    assert ended.code == 0, ended.err
    for name, version in {"head": "three", "tag": "two", "branch": "two", "commit": "one"}.items():
        for number in (1, 2, 3):
            assert seen(run_of(project, name, number)) == [version, "three", "## HEAD (no branch)"]
    assert worktrees(repo) == []
    assert project.left == []
    assert git(repo, "status", "--short") == "?? uncommitted"
    assert "left over" not in ended.err


def test_a_worktree_that_cannot_be_made_is_an_error_that_says_why(project: Project):
    repo = repository(project.home / "repo", {"v": "one"})
    good = "{type: worktree, source: repo, dest: good}"
    tasks = {
        "a-commit": f"inputs: {{prompt: p, repos: [{good}, {{type: worktree, source: repo, commit: nowhere, dest: b}}]}}",
        "c-no-repository": f"inputs: {{prompt: p, repos: [{good}, {{type: worktree, source: /, dest: b}}]}}",
        "d-twice": f"inputs: {{prompt: p, repos: [{good}, {good}]}}",
        "e-fine": f"inputs: {{prompt: p, repos: [{good}]}}",
    }
    ended = project.run("run", mock_suite(project.home, tasks))
    assert ended.code == 1
    statuses = {name: task["status"] for name, task in tasks_of(project).items()}
    assert statuses == {name: "passed" if name == "e-fine" else "error" for name in tasks}
    assert "nowhere" in run_of(project, "a-commit")["error_msg"]
    assert "not a git repository" in run_of(project, "c-no-repository")["error_msg"]
    assert all("the worktree of" in run_of(project, name)["error_msg"] for name in tasks if name != "e-fine")
    assert worktrees(repo) == []
    assert project.left == []


def test_after_a_hard_kill_the_next_run_clears_worktrees_and_rooms(project: Project):
    duration = nap()
    repo = repository(project.home / "repo", {"v": "one"})
    text = (
        "inputs: {prompt: p, repos: [{type: worktree, source: repo, dest: tree}]}\n"
        f"graders: [{look(f'[ -e ../../../home/go ] || sleep {duration}')}]"
    )
    suite = mock_suite(project.home, {"t": text})
    with project.started("run", suite) as live:
        live.until(lambda: survivors(duration))
        first, other = project.left, project.home / "live.txt"
        assert len(first) == 1
        with project.started("run", suite) as second:  # a run that lives is not taken for a dead one
            second.until(lambda: len(survivors(duration)) == 2)
            assert len(worktrees(repo)) == 2
            second.send(signal.SIGINT)
            assert second.ended().code == 130
        assert project.left == first
        other.touch()
        stale = worktrees(repo)
        assert len(stale) == 1
        assert Path(stale[0]).is_dir()
    assert project.left == first
    assert worktrees(repo) == stale
    for pid in survivors(duration):
        psutil.Process(pid).kill()  # nothing can end the children of a process that is killed hard
    (project.home / "go").touch()
    assert project.run("run", suite).code == 0
    assert project.left == []
    assert worktrees(repo) == []


def test_kept_workspaces_are_listed_with_the_commands_that_remove_them(project: Project):
    repo = repository(project.home / "repo with blank", {"v": "one"})
    text = "inputs: {prompt: p, repos: [{type: worktree, source: repo with blank, dest: tree}]}\nmock: {files: [{path: new, content: x}]}"
    suite = mock_suite(project.home, {"t": text, "u": "inputs: {prompt: p}"}, config=["trials_per_task: 2"])
    ended = project.run("run", suite, "--keep-workspace")
    assert ended.code == 0
    kept = [Path(run["workspace_dir"]) for task in tasks_of(project).values() for run in task["runs"]]
    assert len(set(kept)) == 4
    assert all(path.is_dir() for path in kept)
    assert all((path / "tree/v").read_text() == "one" for path in kept[:2])
    assert len(worktrees(repo)) == 2
    assert project.run("run", suite).code == 0
    assert all(path.is_dir() for path in kept)  # another run does not take them for left-overs
    lines = ended.err.splitlines()
    commands = [line.strip() for line in lines if line.strip().startswith("git -C")]
    assert len(commands) == 2
    room = next(line for line in lines if "rm -r" in line).split("remove them with: ")[1]
    for command in [*commands, room]:
        subprocess.run(shlex.split(command), check=True)
    assert worktrees(repo) == []
    assert project.left == []


def test_without_workspaces_nothing_is_reported_as_kept(project: Project):
    suite = mock_suite(project.home, {"t": "inputs: {prompt: p}"})
    ended = project.run("run", suite, "--keep-workspace")
    assert "Workspaces kept" in ended.err  # with the flag every attempt has one
    assert "Workspaces kept" not in project.run("run", suite).err
