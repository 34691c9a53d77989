"""Several suites and models that are started together."""

from __future__ import annotations

from pathlib import Path

from tests.support.program import waza, write_tree

SKILL = "---\nname: {0}\ndescription: d\n---\nbody\n"
SUITE = (
    "name: {0}\nskill: {0}\nconfig: {{executor: mock, model: m}}\ntasks: ['t.yaml']\n"
    "hooks: {{before_run: [{{command: 'echo {0} >> ../../order.txt'}}]}}\n"
)
TASK = "id: t\ninputs: {prompt: p}\nmock: {output: ok}\ngraders: [{type: text, name: g, config: {contains: [ok]}}]\n"


def skills(root: Path, *names: str, **broken: str) -> None:
    """Write skills with a suite each; `broken` replaces the suites of some."""
    for name in names:
        suite = broken.get(name, SUITE.format(name))
        files = {"SKILL.md": SKILL.format(name), "eval.yaml": suite, "t.yaml": TASK}
        write_tree(root, {f"skills/{name}/{path}": text for path, text in files.items()})


def test_a_suite_with_mistakes_keeps_no_other_from_running(tmp_path: Path):
    skills(
        tmp_path, "ada", "bob", "cy", bob="name: bob\nconfig: {executor: mock, model: m}\ntasks: [3, []]\n"
    )
    ended = waza("run", "--discover", "skills", cwd=tmp_path)
    assert ended.code == 2
    assert "skills/bob/eval.yaml:3:" in ended.err
    assert "Not run: bob: its files have mistakes" in ended.err
    assert (tmp_path / "order.txt").read_text().split() == ["ada", "cy"]
    assert len(list((tmp_path / ".waza" / "runs").iterdir())) == 2


def test_a_suite_that_cannot_start_keeps_no_other_from_running(tmp_path: Path):
    hook = "hooks: {before_run: [{command: 'false', error_on_fail: true}]}\n"
    broken = SUITE.format("ada").split("hooks")[0] + hook
    skills(tmp_path, "ada", "bob", ada=broken)
    ended = waza("run", "--discover", "skills", "--json", "--no-save", cwd=tmp_path)
    assert ended.code == 2
    assert "Error: the before_run hook `false` failed (exit status 1)" in ended.err
    assert "Not run: ada on m: the before_run hook" in ended.err
    assert '"eval_name": "bob"' in ended.out


def test_where_every_suite_has_mistakes_all_of_them_are_shown(tmp_path: Path):
    skills(tmp_path, "ada", "bob", ada="name: [", bob="name: 3\n")
    ended = waza("run", "--discover", "skills", "--json", cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert "ada/eval.yaml:2:1: not valid YAML" in ended.err
    assert "bob/eval.yaml:1:" in ended.err
    assert not (tmp_path / ".waza").exists()
