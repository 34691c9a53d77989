"""The command line: exit codes, help, mistakes in arguments, streams that fail, defaults of a project."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest
from tests.support.program import Ended, mock_suite, strict_json, waza, write_tree

from waza.cli.app import COMMANDS
from waza.cli.compare import command as compare
from waza.cli.grade import command as grade
from waza.cli.run import command as run

SAYS_HELLO = "graders: [{type: text, name: says, config: {contains: [hello]}}]"
PASSES = "inputs: {prompt: p}\nmock: {output: hello}"
FAILS = "inputs: {prompt: p}\nmock: {output: bye}"
BREAKS = "inputs: {prompt: p}\nmock: {output: hello, error: the engine fell over}"


def suite(root: Path, *texts: str, config: tuple[str, ...] = ()) -> Path:
    tasks = {f"t{number}": text for number, text in enumerate(texts, 1)}
    return mock_suite(root, tasks, SAYS_HELLO, config)


# --- exit codes ---


@pytest.mark.parametrize(
    ("tasks", "code"),
    [
        ([PASSES, PASSES], 0),
        ([PASSES, FAILS], 1),
        ([PASSES, BREAKS], 1),
        ([FAILS, BREAKS], 1),
    ],
    ids=["all pass", "one fails", "one breaks", "none passes"],
)
def test_exit_code_of_a_run(tmp_path: Path, tasks: list[str], code: int):
    suite(tmp_path, *tasks)
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert ended.code == code
    assert "Traceback" not in ended.err
    summary = ended.results()["summary"]
    assert (summary["failed"] + summary["errors"] > 0) == (code == 1)


def test_a_run_that_was_not_graded_did_not_fail(tmp_path: Path):
    suite(tmp_path, FAILS)
    ended = waza("run", "eval.yaml", "--skip-graders", cwd=tmp_path)
    assert ended.code == 0
    assert ended.results()["tasks"][0]["status"] == "skipped"


@pytest.mark.parametrize(
    ("args", "head", "said"),
    [
        (["--task", "zzz*"], "tasks: ['tasks/*.yaml']", "0 tasks selected: none matches --task 'zzz*'"),
        (["--tags", "none"], "tasks: ['tasks/*.yaml']", "0 tasks selected: none matches --tags none"),
        ([], "tasks: ['none/*.yaml']", "none/*.yaml"),
        ([], "tasks_from: rows.csv", "rows.csv"),
        (["--executor", "mok"], "tasks: ['tasks/*.yaml']", "there is no executor 'mok'"),
    ],
    ids=["no such task", "no such tag", "no such file", "only a header", "bad configuration"],
)
def test_nothing_to_run_or_not_as_asked_is_2_and_leaves_nothing(
    tmp_path: Path, args: list[str], head: str, said: str
):
    write_tree(
        tmp_path,
        {
            "eval.yaml": f"name: s\nconfig: {{executor: mock}}\n{head}\n",
            "rows.csv": "id,prompt\n",
            "tasks/t.yaml": PASSES,
        },
    )
    ended = waza("run", "eval.yaml", *args, cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert "100" not in ended.err
    assert not (tmp_path / ".waza").exists()


# --- help ---


def test_help_of_the_program_lists_every_command(tmp_path: Path):
    asked = waza("--help", cwd=tmp_path)
    assert (asked.code, asked.err) == (0, "")
    for name, (_, text) in COMMANDS.items():
        assert f"  {name} " in asked.out
        assert text in asked.out
    assert "Example: waza run" in asked.out
    alone = waza(cwd=tmp_path)
    assert (alone.code, alone.out, alone.err) == (0, asked.out, "")
    assert waza("-h", cwd=tmp_path).out == asked.out


def names_of_commands() -> Iterator[str]:
    """The commands, those of groups with the name of their group."""
    for name, (module, _) in COMMANDS.items():
        command = import_module(module).command
        if isinstance(command, click.Group):
            yield from (f"{name} {below}" for below in command.commands)
        else:
            yield name


@pytest.mark.parametrize("name", sorted(names_of_commands()))
def test_help_of_a_command_has_an_example_that_names_it(tmp_path: Path, name: str):
    ended = waza(*name.split(), "--help", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"Usage: waza {name} ")
    assert "Example" in ended.out
    assert ended.out.count(f"waza {name}") >= 2
    assert max(map(len, ended.out.splitlines())) < 100


def test_version(tmp_path: Path):
    answers = {waza(flag, cwd=tmp_path).out for flag in ("--version", "-v")}
    answers.add(waza("--debug", "--no-update-check", "--version", cwd=tmp_path).out)
    assert len(answers) == 1
    assert answers.pop().startswith("waza version ")


@pytest.mark.parametrize("command", [run, grade, compare])
def test_every_option_is_tried_by_a_test(command: click.Command):
    here = Path(__file__).parent
    tests = "\n".join(path.read_text(encoding="utf-8") for path in here.glob("test_*.py"))
    names = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    assert sorted(name for name in names if name.startswith("-") and f'"{name}' not in tests) == []


# --- mistakes in arguments ---


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("xyzzy", "there is no command 'xyzzy'. Commands: run, grade,"),
        ("rnu", "Did you mean 'run'?"),
        ("--nope", "No such option '--nope'; see `waza --help`"),
        ("run --jsno", "--json"),
        ("run a.yaml b.yaml", "there is no such suite file: a.yaml, b.yaml; nothing was run"),
        ("run --workers many", "'many'"),
        ("run --trials 0", "--trials"),
        ("run --timeout -1", "--timeout"),
        ("run --format pretty", "'default', 'github-comment'"),
        (
            "run --reporter xml",
            "there is no reporter 'xml'; use json, json:PATH, html:PATH, junit:PATH or markdown:PATH",
        ),
        ("run --reporter junit", "the reporter junit needs a file: junit:PATH"),
        ("run -o", "-o"),
        ("run -o a.json -d b", "-o and --output-dir exclude each other"),
        ("run --discover nowhere", "there is no directory nowhere"),
        ("grade", "EVAL.YAML"),
        ("grade eval.yaml", "--results"),
        (
            "grade eval.yaml --results r.json --workspace nowhere",
            "there is no directory nowhere (--workspace)",
        ),
        ("compare", "A B..."),
        ("compare a.json", "'a.json' is neither a file nor a directory nor the id of a run"),
        ("compare a.json b.json -f xml", "'table', 'json'"),
        (
            "schema",
            "Choose from: suite, task, trigger-tests, config, results, policy, references, snapshot, evidence, wgp-request, wgp-response; see `waza schema --help`",
        ),
        (
            "schema tsk",
            "'suite', 'task', 'trigger-tests', 'config', 'results', 'policy', 'references', 'snapshot', 'evidence', 'wgp-request', 'wgp-response'",
        ),
    ],
)
def test_a_mistake_is_reported_once_in_one_line(tmp_path: Path, line: str, said: str):
    ended = waza(*line.split(), cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("Error: ")
    assert ended.err.count("\n") == 1
    assert ended.err.count("Error") == 1
    assert said in ended.err
    assert ".;" not in ended.err


def test_models_given_twice(tmp_path: Path):
    suite(tmp_path, PASSES)
    ended = waza("run", "eval.yaml", "-m", "a", "--model", "b", "--model", "a", cwd=tmp_path)
    assert ended.code == 2
    assert "--model: duplicate model 'a'" in ended.err


# --- options over the settings of a project ---


def header(ended: Ended) -> str:
    assert "Benchmark: suite" in ended.err, ended.err
    return ended.err


def test_settings_of_a_project_are_defaults(tmp_path: Path):
    suite(tmp_path, PASSES, FAILS)
    settings = """
    paths: {results: kept}
    defaults: {parallel: true, workers: 3, judgeModel: the-judge, verbose: true, sessionLog: true}
    cache: {enabled: true, dir: shelf}
    """
    write_tree(tmp_path, {".waza.yaml": settings, "sub/note.txt": ""})
    first = header(waza("run", "../eval.yaml", cwd=tmp_path / "sub"))
    assert "Parallel: 2 workers" in first or "Parallel: 3 workers" in first
    assert "Judge model: the-judge" in first
    assert "[PROMPT] p" in first
    assert len(list((tmp_path / "shelf").glob("*.json"))) == 2
    assert len(list((tmp_path / "kept").glob("*/test-model.json"))) == 1
    assert len(list((tmp_path / "sub").glob("session-*.ndjson"))) == 1
    assert len(list((tmp_path / ".waza" / "runs").iterdir())) == 1, "runs are kept beside .waza.yaml"
    again = waza("run", "eval.yaml", cwd=tmp_path)
    assert again.err.count("[cached]") == 2
    assert all(task["cached"] for task in again.results()["tasks"])
    given = (
        "--judge-model",
        "mine",
        "--workers",
        "1",
        "--no-cache",
        "--cache-dir",
        "other",
        "-o",
        "here.json",
    )
    own = header(waza("run", "eval.yaml", *given, cwd=tmp_path))
    assert "Judge model: mine" in own
    assert "Parallel" not in own
    assert "[cached]" not in own
    assert not (tmp_path / "other").exists()
    assert strict_json((tmp_path / "here.json").read_bytes())["config"]["judge_model"] == "mine"
    assert len(list((tmp_path / "kept").glob("*"))) == 2, "-o replaces the folder of the project"


@pytest.mark.parametrize("results", ["../elsewhere", "/elsewhere", "results", "results/"])
def test_a_results_path_outside_of_the_project_or_the_default_writes_nothing(tmp_path: Path, results: str):
    root = tmp_path / "project"
    suite(root, PASSES)
    write_tree(root, {".waza.yaml": f"paths: {{results: {results}}}"})
    ended = waza("run", "eval.yaml", "--no-save", cwd=root)
    assert ended.code == 0
    assert "Written" not in ended.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["project"]
    assert sorted(path.name for path in root.iterdir()) == [".waza.yaml", "eval.yaml", "tasks"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("defaults: [", "not valid YAML"),
        ("defaults: {workers: many}", ".waza.yaml:1:21: defaults.workers"),
        ("defaults: {parallel: 3}\ncache: {enabled: maybe}", "2 mistakes; nothing was run"),
    ],
)
def test_broken_settings_stop_every_command_that_reads_them(tmp_path: Path, settings: str, said: str):
    suite(tmp_path, PASSES)
    write_tree(tmp_path, {".waza.yaml": settings})
    for words in (["run", "eval.yaml"], ["grade", "eval.yaml", "--results", "r.json"]):
        ended = waza(*words, cwd=tmp_path)
        assert (ended.code, ended.out) == (2, "")
        assert said in ended.err


def test_unknown_settings_are_warnings(tmp_path: Path):
    suite(tmp_path, PASSES)
    write_tree(tmp_path, {".waza.yaml": "defaults:\n  judgModel: x\ncolour: red\n"})
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert ended.code == 0
    lines = [line for line in ended.err.splitlines() if "warning" in line]
    assert len(lines) == 2
    unknown = ".waza.yaml:2:3: defaults.judgModel: warning: unknown key 'judgModel', ignored"
    assert lines[0] == f"{unknown}; did you mean 'judgeModel'?"
    assert lines[1].startswith(".waza.yaml:3:1: colour: warning: ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "run e.yaml --timeout 5m",
            "'--timeout': '5m' is not a whole number of seconds from 1 to 86400, such as 300",
        ),
        ("run e.yaml --timeout 1.5", "'1.5' is not a whole number of seconds"),
        ("run e.yaml --timeout 0", "'0' is not a whole number of seconds"),
        ("run e.yaml --timeout 86401", "'86401' is not a whole number of seconds"),
        ("run e.yaml --trials many", "'--trials': 'many' is not a whole number from 1 on, such as 3"),
        ("run e.yaml --trials 0", "'0' is not a whole number from 1 on"),
        ("run e.yaml -w -1", "'--workers': '-1' is not a whole number from 0 on, such as 4"),
        ("m365 run e.json --timeout 5m", "'--timeout': '5m' is not a number of seconds, such as 300 or 0.5"),
        ("m365 run e.json --timeout 0", "'0' is not a number of seconds, such as 300 or 0.5"),
        ("m365 run e.json --timeout nan", "'nan' is not a number of seconds"),
        ("m365 run e.json --timeout inf", "'inf' is not a number of seconds"),
    ],
)
def test_words_that_are_not_numbers_are_reported_with_what_is_wanted(tmp_path: Path, words: str, said: str):
    ended = waza(*words.split(), cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1


def test_options_are_taken_as_other_programs_spell_them(tmp_path: Path):
    suite = mock_suite(tmp_path, dict.fromkeys("ab", "inputs: {prompt: p}\nmock: {output: hello}"))
    write_tree(tmp_path, {".waza.yaml": "defaults: {parallel: true, workers: 2, verbose: true}\n"})
    ended = waza(
        "run",
        suite,
        "-o=x.json",
        "--output",
        "",
        "--debug",
        "--no-update-check",
        "--no-save=true",
        cwd=tmp_path,
    )
    assert ended.code == 0, ended.err
    assert "Parallel: 2 workers" in ended.err
    assert (tmp_path / "x.json").exists()
    assert not (tmp_path / ".waza").exists()
    for off, quiet in (("--parallel=false", "--verbose=false"), ("--no-parallel", "--no-verbose")):
        ended = waza("run", suite, off, quiet, "--no-session-log", "--no-save", cwd=tmp_path)
        assert ended.code == 0, ended.err
        assert "Parallel" not in ended.err
        assert "[PROMPT]" not in ended.err


def test_a_suite_that_is_parallel_can_be_run_in_order(tmp_path: Path):
    tasks = dict.fromkeys("ab", "inputs: {prompt: p}\nmock: {output: hello}")
    suite = mock_suite(tmp_path, tasks, config=["parallel: true", "workers: 2"])
    assert "Parallel: 2 workers" in waza("run", suite, "--no-save", cwd=tmp_path).err
    assert "Parallel" not in waza("run", suite, "--no-save", "--parallel=false", cwd=tmp_path).err
