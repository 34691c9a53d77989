"""Suites that strangers wrote for the program this one is compatible with: each loads, or is refused for a reason.

Only their YAML is at hand, so a stub stands for every fixture, snapshot and skill that they name. The folder is
named by `WAZA_CORPUS`; it holds one folder a repository.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import waza

from waza.errors import SuiteError
from waza.kit import yaml
from waza.suite.load import load
from waza.suite.loading import LoadOptions

CORPUS = Path(os.environ.get("WAZA_CORPUS") or Path(__file__).parents[3] / "shared" / "corpus") / "suites"
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason=f"there are no suites in {CORPUS}")

MOCK = LoadOptions(executor="mock")
SKILL = "---\nname: {name}\ndescription: Use it for {name}, migration, policy and review.\n---\nHelp with {name}.\n"

# The suites that load, with the number of their tasks.
LOADS = {
    "r00/evals/agents-md": 1,
    "r00/evals/aube": 1,
    "r00/evals/backfill-unit-tests": 1,
    "r00/evals/github-epic": 1,
    "r00/evals/gitlab-epic": 1,
    "r00/evals/mise": 1,
    "r00/evals/pr-workflow": 1,
    "r00/evals/tidy-commits": 1,
    "r00/evals/to-memory": 1,
    "r00/evals/write-e2e-tests": 1,
    "r01/evals/aggregate-design": 3,
    "r01/evals/bounded-context": 3,
    "r01/evals/domain-classifier": 3,
    "r01/evals/domain-event": 3,
    "r01/evals/exception-design": 3,
    "r01/evals/repository-design": 3,
    "r01/evals/ubiquitous-language": 3,
    "r01/evals/value-object": 3,
    "r02/evals": 5,
    "r03/evals/kamae": 3,
    "r03/evals/kamae-review": 6,
    "r04/.github/evals/azure-policy-advisor": 5,
    "r04/.github/evals/azure-stack-deploy": 5,
    "r04/.github/evals/azure-stack-destroy": 5,
    "r04/.github/evals/git-ape-onboarding": 4,
    "r04/.github/evals/prereq-check": 4,
    "r05/evals/commit-message-reviewer": 3,
    "r05/evals/commit-message-reviewer-copilot-sdk": 1,
    "r06/evals/joker": 3,
    "r09/ban-ast/skills/manage-bans/evals": 2,
    "r09/component-explorer/skills/setup-component-explorer/evals": 1,
    "r09/component-explorer/skills/setup-component-explorer-full/evals": 1,
    "r09/component-explorer/skills/setup-component-explorer-light/evals": 1,
    "r09/component-explorer/skills/use-component-explorer/evals": 1,
    "r09/model-council/skills/council-plan/evals": 1,
    "r09/model-council/skills/council-review/evals": 1,
    "r09/review-areas/skills/review-areas/evals": 1,
}
# Metrics of these suites that are labels only: no grader and no trigger test gives them data.
LABELS = {
    "r00/evals/agents-md": ["audit_quality"],
    "r00/evals/aube": ["aube_migration"],
    "r00/evals/backfill-unit-tests": ["backfill_quality"],
    "r00/evals/github-epic": ["epic_plan"],
    "r00/evals/gitlab-epic": ["epic_plan"],
    "r00/evals/mise": ["mise_toml_quality"],
    "r00/evals/pr-workflow": ["pr_plan"],
    "r00/evals/tidy-commits": ["tidy_plan"],
    "r00/evals/to-memory": ["memory_write"],
    "r00/evals/write-e2e-tests": ["convert_quality"],
    "r02/evals": ["trigger_accuracy"],
    "r04/.github/evals/azure-policy-advisor": ["trigger_precision"],
    "r04/.github/evals/azure-stack-deploy": ["trigger_precision"],
    "r04/.github/evals/azure-stack-destroy": ["trigger_precision"],
    "r04/.github/evals/git-ape-onboarding": ["trigger_precision"],
    "r04/.github/evals/prereq-check": ["trigger_precision"],
    "r06/evals/joker": ["efficiency"],
}
# The others, with what is wrong: `regex` is no type of grader (the program they are for says so only at run time).
NO_REGEX = "eval.yaml:17:5: graders[1].type: there is no grader type 'regex'; use type: text with config: {regex_match: [...]}"
NO_PROMPT = "tasks/edge-case.yaml:7:1: inputs: warning: the prompt is empty; write inputs.prompt"
REFUSED = {name: [NO_REGEX, NO_PROMPT] for name in ("r07/evals/azure-deploy", "r07/evals/azure-prepare")}


def put(path: Path, text: str) -> None:
    """Write a stub, unless the file is there."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def documents(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the suite of a folder and its tasks, as plain values."""
    for file in (folder / "eval.yaml", *sorted(folder.glob("tasks/*.yaml"))):
        document = yaml.to_plain(yaml.load(file.read_bytes()))
        assert isinstance(document, dict)
        yield document


def complete(repository: Path) -> None:
    """Write a stub for everything that the suites of a repository name: only their YAML is there."""
    for folder in [file.parent for file in repository.rglob("eval.yaml")]:
        suite, *tasks = documents(folder)
        beside = folder.name == "evals"
        own = folder.parent if beside else folder.parent.parent / "skills" / folder.name
        put(own / "SKILL.md", SKILL.format(name=suite["skill"] if beside else own.name))
        for document in (suite, *tasks):
            for file in document.get("inputs", {}).get("files", []):
                put(folder / "fixtures" / file["path"], "stub\n")
            for config in [grader["config"] for grader in document.get("graders", [])]:
                if "skill_path" in config:
                    put(repository / config["skill_path"], SKILL.format(name=own.name))
                for entry in config.get("expected_files", []):
                    put(repository / entry.get("snapshot", "."), "stub\n")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of all repositories, completed with stubs."""
    copy = tmp_path_factory.mktemp("corpus")
    for repository in CORPUS.iterdir():
        shutil.copytree(repository, copy / repository.name, copy_function=shutil.copyfile)
    for folder in [copy, *(path for path in copy.rglob("*") if path.is_dir())]:
        folder.chmod(0o755)  # the original may be read-only
    for repository in copy.iterdir():
        complete(repository)
    return copy


def test_the_table_names_every_suite() -> None:
    there = {str(file.parent.relative_to(CORPUS)) for file in CORPUS.rglob("eval.yaml")}
    assert there == LOADS.keys() | REFUSED.keys()


@pytest.mark.parametrize("name", LOADS)
def test_it_loads_with_no_warning_but_for_what_has_no_data(
    corpus: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(corpus / name.partition("/")[0])  # as its owner would run it
    suite = load(corpus / name / "eval.yaml", MOCK)
    assert len(suite.tasks) == LOADS[name]
    unmeasured = [warning for warning in suite.warnings if warning.message.startswith("not measured")]
    assert len(unmeasured) == (corpus / name / "trigger_tests.yaml").exists()
    injected = [warning for warning in suite.warnings if warning.path == "expected.should_trigger"]
    expecting = {task.file for task in suite.tasks if task.expected.should_trigger is not None}
    assert len(injected) == len(expecting) * suite.file.config.inject_skill_body
    unscripted = [warning for warning in suite.warnings if warning.path == "expected.behavior"]
    limited = [task.file for task in suite.tasks if task.expected.behavior and task.expected.behavior.checks]
    assert sorted(warning.file for warning in unscripted) == sorted(limited)
    known = (*unmeasured, *injected, *unscripted)
    others = [warning for warning in suite.warnings if warning not in known]
    told = [(warning.path.partition("[")[0], warning.message.split("'")[1]) for warning in others]
    assert told == [("metrics", label) for label in LABELS.get(name, ())]
    assert {task.target and task.target.name for task in suite.tasks} == {suite.file.skill}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_for_a_reason(corpus: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(corpus / name)
    with pytest.raises(SuiteError) as refused:
        load(Path("eval.yaml"))
    assert [str(problem) for problem in refused.value.problems] == REFUSED[name]


REPOSITORIES = sorted({name.partition("/")[0] for name in LOADS})


@pytest.mark.parametrize("repository", REPOSITORIES)
def test_what_loads_runs_on_the_mock_executor(corpus: Path, repository: str) -> None:
    """All suites of a repository in one process, found as `waza run --discover` finds them."""
    expected = {name: tasks for name, tasks in LOADS.items() if name.startswith(f"{repository}/")}
    ended = waza("run", "--discover", ".", "--executor", "mock", "--json", cwd=corpus / repository)
    assert ended.code in {0, 1}, ended.err
    assert "Traceback" not in ended.err
    printed = json.loads(ended.out)
    results = printed if isinstance(printed, list) else [printed]
    assert sorted(len(result["tasks"]) for result in results) == sorted(expected.values())
    for result in results:
        assert result["config"]["engine_type"] == "mock"
        assert all(task["runs"] for task in result["tasks"])
