"""The files for continuous integration keep the rules of those who read them: schemas and linters."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from waza.version import __version__

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent
ACTION = ROOT / "action.yml"
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
RECIPES = ROOT / "examples/ci"
USES = re.compile(r"^\s*(?:- )?uses: (\S+)", re.MULTILINE)

pytestmark = pytest.mark.slow


def found_by(program: str, *words: str | Path, given: str | None = None) -> str:
    """Run a program that is installed beside Python; return what it finds, which is nothing where it ends with 0."""
    done = subprocess.run(
        [str(PROGRAMS / program), *map(str, words)],
        cwd=ROOT,
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    return f"{done.returncode}\n{done.stdout}{done.stderr}" if done.returncode else ""


def against(schema: str, *files: Path) -> str:
    return found_by("check-jsonschema", "--builtin-schema", schema, *files)


def scripts() -> dict[str, str]:
    steps = yaml.safe_load(ACTION.read_text(encoding="utf-8"))["runs"]["steps"]
    return {step["name"]: step["run"] for step in steps if "run" in step}


def test_the_metadata_of_the_action_and_the_workflows_keep_their_schemas(tmp_path: Path):
    assert against("vendor.github-actions", ACTION) == ""
    assert against("vendor.github-workflows", *WORKFLOWS) == ""
    (tmp_path / "action.yml").write_text(
        ACTION.read_text(encoding="utf-8").replace("using: composite", "using: it")
    )
    assert "using" in against("vendor.github-actions", tmp_path / "action.yml")


def test_no_script_of_the_action_holds_an_expression():
    for name, script in scripts().items():
        assert "${{" not in script, name


def test_shellcheck_finds_nothing_in_the_scripts_of_the_action():
    for name, script in scripts().items():
        assert found_by("shellcheck", "--shell=bash", "-", given=script) == "", name
    assert "SC2086" in found_by("shellcheck", "--shell=bash", "-", given="rm $1")


def test_actionlint_finds_nothing_in_workflows(tmp_path: Path):
    if not (PROGRAMS / "actionlint").exists():
        pytest.skip("actionlint is not there: `make actionlint` builds it where Go is installed")
    shellcheck = f"-shellcheck={PROGRAMS / 'shellcheck'}"
    assert found_by("actionlint", shellcheck, *WORKFLOWS, *RECIPES.glob("github-*.yml")) == ""
    text = WORKFLOWS[0].read_text(encoding="utf-8").replace("runner.temp", "runner.tmp")
    (tmp_path / "ci.yml").write_text(text, encoding="utf-8")
    assert 'property "tmp" is not defined' in found_by("actionlint", shellcheck, tmp_path / "ci.yml")


def test_zizmor_finds_no_weakness(tmp_path: Path):
    words = ("--offline", "--quiet", "--strict-collection", "--config", ROOT / ".github/zizmor.yml")
    own = (ACTION, ROOT / ".github/workflows", ROOT / ".pre-commit-hooks.yaml")
    assert found_by("zizmor", *words, *own, *RECIPES.glob("github-*.yml")) == ""
    weak = ACTION.read_text(encoding="utf-8").replace('exit "$code"', "exit ${{ inputs.args }}")
    (tmp_path / "action.yml").write_text(weak, encoding="utf-8")
    assert "template-injection" in found_by("zizmor", *words, tmp_path / "action.yml")


def test_hadolint_finds_nothing_in_the_dockerfile():
    assert found_by("hadolint", ROOT / "Dockerfile") == ""
    assert "DL3007" in found_by("hadolint", "-", given="FROM python:latest\n")


def test_actions_of_others_have_one_version():
    texts = [path.read_text(encoding="utf-8") for path in (ACTION, *WORKFLOWS, *RECIPES.rglob("*.yml"))]
    used = {tuple(name.split("@")) for text in texts for name in USES.findall(text) if name != "./"}
    names = [name for name, _ in used]
    assert len(names) == len(set(names)), sorted(used)


def test_the_manifest_of_the_hooks_is_valid():
    assert found_by("pre-commit", "validate-manifest", ROOT / ".pre-commit-hooks.yaml") == ""


def test_recipes_keep_the_schemas_of_their_servers(tmp_path: Path):
    assert against("vendor.github-workflows", *RECIPES.glob("github-*.yml")) == ""
    gitlab = ("--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci")
    assert found_by("check-jsonschema", *gitlab, RECIPES / "gitlab-ci.yml") == ""
    azure = ("--builtin-schema", "vendor.azure-pipelines", "--regex-variant", "nonunicode")
    assert found_by("check-jsonschema", *azure, RECIPES / "azure-pipelines.yml") == ""
    wrong = (RECIPES / "azure-pipelines.yml").read_text(encoding="utf-8").replace("steps:", "step:")
    (tmp_path / "azure-pipelines.yml").write_text(wrong, encoding="utf-8")
    assert found_by("check-jsonschema", *azure, tmp_path / "azure-pipelines.yml") != ""


def test_recipes_are_all_checked_and_hold_no_mistake_of_shells():
    names = {path.name for path in RECIPES.iterdir()}
    github = {"github-action.yml", "github-code-scanning.yml", "github-shards.yml", "github-workflow.yml"}
    scripts = {"slurm-shards.sh", "waza.sh"}
    assert names == {*github, *scripts, "azure-pipelines.yml", "gitlab-ci.yml", "kubernetes-shards.yml"}
    for name in scripts:
        assert found_by("shellcheck", RECIPES / name) == ""


def test_the_jobs_of_kubernetes_keep_their_schema():
    jobs = list(yaml.safe_load_all((RECIPES / "kubernetes-shards.yml").read_text(encoding="utf-8")))
    for job in jobs:
        kubernetes_validate.validate(job, kubernetes_validate.latest_version(), strict=True)
        (container,) = job["spec"]["template"]["spec"]["containers"]
        assert found_by("shellcheck", "--shell=sh", "-", given=container["args"][0]) == ""
    jobs[0]["spec"]["completion"] = 3
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(jobs[0], kubernetes_validate.latest_version(), strict=True)


def test_recipes_and_page_name_the_version_of_this_waza():
    own_image = {"kubernetes-shards.yml"}
    for path in (*RECIPES.glob("*.yml"), ROOT / "docs/ci.md"):
        if path.name in own_image:
            continue
        named = re.findall(r"(?:waza[@/-]|:|v)(\d+\.\d+\.\d+)\b", path.read_text(encoding="utf-8"))
        assert set(named) <= {__version__}, path.name
        assert named, path.name


def test_the_page_shows_the_recipes_as_they_are():
    page = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("ci.md", "shards.md"))
    shown = set(re.findall(r"^```(?:yaml|sh)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    for path in RECIPES.iterdir():
        assert path.read_text(encoding="utf-8") in shown, path.name


def test_the_page_lists_every_input_and_output_of_the_action():
    page = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
    action = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
    tables = page.split("## Hooks of pre-commit")[0]
    listed = re.findall(r"^\| `([a-z-]+)` \|", tables, re.MULTILINE)
    assert sorted(listed) == sorted([*action["inputs"], *action["outputs"]])
