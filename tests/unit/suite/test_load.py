"""What loading a suite gives, beyond the broken ones: which tasks, in which order, with what in them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.support.program import mock_suite, write_tree

from waza.errors import SuiteError
from waza.model.loaded import Suite
from waza.suite.load import load
from waza.suite.loading import LoadOptions

HEAD = "name: s\nconfig: {executor: mock, model: m}\n"
TASK = "inputs: {prompt: hi}\nexpected: {output_contains: [hi]}\n"


def suite(root: Path, files: Mapping[str, str | bytes], **asked: object) -> Suite:
    write_tree(root, files)
    return load(root / "eval.yaml", LoadOptions(**asked))  # type: ignore[arg-type]  # a test names them by hand


def ids(found: Suite) -> list[str]:
    return [task.id for task in found.tasks]


def warnings(found: Suite) -> list[str]:
    return [
        f"{warning.line}:{warning.column}: {warning.path}: {warning.message}" for warning in found.warnings
    ]


def problems(root: Path, files: Mapping[str, str | bytes], **asked: object) -> list[str]:
    with pytest.raises(SuiteError) as refused:
        suite(root, files, **asked)
    return [str(problem).removeprefix(f"{root}/") for problem in refused.value.problems]


class TestTaskFiles:
    def test_they_come_pattern_by_pattern_each_once_and_sorted(self, tmp_path):
        files = {f"t/{name}.yaml": TASK for name in ("b", "a", "c", "é")}
        (tmp_path / "t").mkdir()
        (tmp_path / "t/link.yaml").symlink_to("a.yaml")
        found = suite(
            tmp_path, {"eval.yaml": HEAD + "tasks: [t/c.yaml, './t//[^c].yaml', t/*.yaml]", **files}
        )
        assert ids(found) == ["c", "a", "b", "é"]
        assert found.warnings == ()

    def test_the_suite_and_its_trigger_tests_are_no_tasks(self, tmp_path):
        trigger = "skill: s\nshould_trigger_prompts: [{prompt: p}]\n"
        files = {"eval.yaml": HEAD + "tasks: ['*.yaml']", "a.yaml": TASK, "trigger_tests.yaml": trigger}
        found = suite(tmp_path, files)
        (tmp_path / "trigger_tests.yaml").unlink()
        assert ids(found) == ["a"]
        assert [one for one in warnings(found) if "tasks[0]" in one] == [
            "3:9: tasks[0]: 'eval.yaml' is not a task, and is left out",
            "3:9: tasks[0]: 'trigger_tests.yaml' is not a task, and is left out",
        ]
        assert problems(tmp_path, {"eval.yaml": HEAD + "tasks: [eval.yaml]"}) == [
            "eval.yaml:3:1: tasks: 0 tasks selected: no file matches eval.yaml; patterns are relative to the suite's directory",
            "eval.yaml:3:9: tasks[0]: warning: 'eval.yaml' is not a task, and is left out",
        ]

    def test_warnings_are_beside_mistakes_but_not_those_that_follow_from_one(self, tmp_path):
        files = {
            "eval.yaml": HEAD + "colour: red\ntasks: [t.yaml]\nrange: [0, 1]",
            "t.yaml": "inputs:\n  prompt: [hi]\n  promt: hi\n",
        }
        found = problems(tmp_path, files)
        assert [line.partition(": ")[0] for line in found] == [
            "eval.yaml:3:1",
            "eval.yaml:5:1",
            "t.yaml:2:11",
            "t.yaml:3:3",
        ]
        assert [": warning: " in line for line in found] == [True, True, False, True]

    def test_names_and_ids_default_to_each_other_then_to_the_file(self, tmp_path):
        tasks = {
            "file": TASK,
            "one": f"id: i\n{TASK}",
            "two": f"name: n\n{TASK}",
            "three": f"id: 1.10\nname: 012\n{TASK}",
        }
        found = load(mock_suite(tmp_path, tasks))
        assert [(task.id, task.name) for task in found.tasks] == [
            ("file", "file"),
            ("i", "i"),
            ("1.10", "012"),
            ("n", "n"),
        ]

    def test_each_trigger_is_a_task(self, tmp_path):
        short = "name: n\ntriggers: [one, two]\nfixtures: [a.txt]\nexpected_outcome: good\n"
        found = suite(
            tmp_path, {"eval.yaml": HEAD + "tasks: [t.yaml]", "t.yaml": short, "fixtures/a.txt": "x"}
        )
        assert [(task.id, task.name, task.prompt) for task in found.tasks] == [
            ("n", "n", "one"),
            ("n-2", "n-2", "two"),
        ]
        assert all(task.inputs.files[0].path == "a.txt" for task in found.tasks)
        assert len({task.digest for task in found.tasks}) == 2

    def test_values_are_the_source_texts(self, tmp_path):
        task = "tags: [1.0, yes, 007]\ninputs: {prompt: 1.10, environment: {A: 1.0, B: true}, context: {n: 1.10, on: yes}}\n"
        [found] = load(mock_suite(tmp_path, {"t": task}, "inputs: {v: 1.0, debug: true}")).tasks
        assert (found.prompt, found.tags) == ("1.10", ("1.0", "yes", "007"))
        assert found.inputs.environment == {"A": "1.0", "B": "true"}
        assert found.inputs.context == {"n": 1.1, "on": "yes"}
        assert found.variables == {"v": "1.0", "debug": "true"}

    def test_a_pattern_without_match_is_a_warning_beside_others(self, tmp_path):
        found = suite(tmp_path, {"eval.yaml": HEAD + "tasks: [a.yaml, 'b/*.yaml']", "a.yaml": TASK})
        assert warnings(found) == ["3:17: tasks[1]: no file matches 'b/*.yaml'"]


class TestRows:
    CSV = "id,name,lang,prompt\nex-go,Explain Go,Go,Explain {{.Vars.lang}} for {{.Vars.who}}\n,,Rust,Why?\n,N,C,x\n"

    def rows(self, more: str = "") -> dict[str, str]:
        return {
            "eval.yaml": HEAD + "tasks_from: a.csv\ninputs: {who: kids, lang: none}\n" + more,
            "a.csv": self.CSV,
        }

    def test_columns_are_variables_over_the_inputs(self, tmp_path):
        found = suite(tmp_path, self.rows())
        assert [(task.id, task.name) for task in found.tasks] == [
            ("ex-go", "Explain Go"),
            ("row-2", "row-2"),
            ("N", "N"),
        ]
        assert found.tasks[1].variables == {
            "who": "kids",
            "lang": "Rust",
            "id": "",
            "name": "",
            "prompt": "Why?",
        }
        assert [task.file.rpartition("/")[2] for task in found.tasks] == ["a.csv:2", "a.csv:3", "a.csv:4"]
        assert len({task.digest for task in found.tasks}) == 3

    @pytest.mark.parametrize(
        ("chosen", "names"),
        [
            ("[1, 1]", ["Explain Go"]),
            ("[2, 3]", ["row-1", "N"]),
            ("[3, 99]", ["N"]),
            ("[0, 0]", ["Explain Go", "row-2", "N"]),
        ],
    )
    def test_ranges_count_from_one_and_names_count_in_the_range(self, tmp_path, chosen, names):
        assert [task.name for task in suite(tmp_path, self.rows(f"range: {chosen}")).tasks] == names

    def test_quotes_line_ends_marks_and_blank_lines(self, tmp_path):
        data = b'\xef\xbb\xbfid,prompt\r\na,"one,\r\n""two"""\r\n\r\nb, {""j"": 1}\r\n\n'
        found = suite(tmp_path, {"eval.yaml": HEAD + "tasks_from: a.csv", "a.csv": data})
        assert [(task.id, task.prompt) for task in found.tasks] == [
            ("a", 'one,\n"two"'),
            ("b", ' {""j"": 1}'),
        ]
        assert found.tasks[1].file.endswith("a.csv:5")

    def test_cells_may_be_large_and_hold_other_templates(self, tmp_path):
        text = "x" * 200_000 + "{{ .Values.x }} {% if %} {# #} ${HOME} <b>&"
        found = suite(tmp_path, {"eval.yaml": HEAD + "tasks_from: a.csv", "a.csv": f"prompt\n{text}\n"})
        assert found.tasks[0].prompt == text

    def test_what_is_odd_is_a_warning(self, tmp_path):
        files = {
            "eval.yaml": HEAD + "tasks_from: a.csv\ntasks: [t.yaml]",
            "a.csv": "id,prompt,id\na,b,c\n,,\n , ,\nd,e,f\n",
        }
        found = suite(tmp_path, files)
        assert ids(found) == ["c", "f"]
        assert warnings(found) == [
            "1:1: graders: 2 tasks have no check: c, f; without one a task passes whatever the agent does",
            "4:1: tasks: has no effect beside tasks_from",
            "1:1: : duplicate column 'id', of which the last one is used",
            "3:1: : 2 rows are blank and skipped, from this line on",
        ]

    @pytest.mark.parametrize("coding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
    def test_a_byte_order_mark_names_the_encoding(self, tmp_path, coding):
        mark = "\ufeff" if coding.endswith("e") else ""
        data = (mark + self.CSV.replace("Why?", "日本 😀")).encode(coding)
        found = suite(tmp_path, {**self.rows(), "a.csv": data})
        assert [task.prompt for task in found.tasks][1] == "日本 😀"

    @pytest.mark.parametrize(
        ("data", "wanted"),
        [
            ("prompt\ncafé\n".encode("latin-1"), "2:1: the file is not UTF-8 text, but probably Latin-1"),
            ("prompt\n“hi”\n".encode("cp1252"), "2:1: the file is not UTF-8 text, but probably Windows-1252"),
            (
                "prompt\nhi\n".encode("utf-16-le"),
                "1:1: the file is not UTF-8 text, but probably UTF-16 without",
            ),
            (
                "prompt\nhé\n".encode("utf-16-be"),
                "2:1: the file is not UTF-8 text, but probably UTF-16 without",
            ),
            (b"\xff\xfep\x00\x00\xd8", "1:1: the file is UTF-16 by its first bytes, but not all of it"),
        ],
    )
    def test_other_encodings_are_named(self, tmp_path, data, wanted):
        [told] = problems(tmp_path, {**self.rows(), "a.csv": data})
        assert told.startswith(f"a.csv:{wanted}")

    @pytest.mark.parametrize(
        ("data", "name"),
        [
            ("id;prompt\na;b, c\n", "semicolons"),
            ('"id";"prompt"\n"a";"b"\n', "semicolons"),
            ("id\tprompt\na\tb\n", "tabs"),
            ("id|prompt\na|b\n", "'|'"),
        ],
    )
    def test_other_delimiters_are_named(self, tmp_path, data, name):
        told = f"the columns are separated by {name}, not by commas"
        hint = "save the file with commas between its fields"
        assert problems(tmp_path, {**self.rows(), "a.csv": data}) == [f"a.csv:1:1: {told}; {hint}"]

    def test_a_row_without_a_prompt_is_refused(self, tmp_path):
        told = problems(tmp_path, {**self.rows(), "a.csv": "id,prompt\na,hi\nb,\nc, \n"})
        assert told == [
            f"a.csv:{row + 1}:1: row {row}, prompt: the prompt is empty; write one, or remove the row"
            for row in (2, 3)
        ]

    def test_a_file_without_prompts_is_refused_unless_the_suite_has_one(self, tmp_path):
        files = {"eval.yaml": HEAD + "tasks_from: a.csv\n", "a.csv": "id,promt\na,b\n"}
        told = "there is no column 'prompt', and the suite has no inputs.prompt for all rows"
        assert problems(tmp_path, files) == [f"a.csv:1:1: {told}; did you mean 'promt'?"]
        files["eval.yaml"] += "inputs: {prompt: 'Explain {{.Vars.promt}}'}\n"
        assert [task.prompt for task in suite(tmp_path, files).tasks] == ["Explain {{.Vars.promt}}"]


class TestSelection:
    @pytest.fixture
    def tagged(self, tmp_path) -> Path:
        tasks = {
            "a1": f"id: a:1\nname: One\ntags: [x, slow]\n{TASK}",
            "a2": f"id: a:2\ntags: [y]\n{TASK}",
            "b": TASK,
        }
        return mock_suite(tmp_path, tasks)

    @pytest.mark.parametrize(
        ("asked", "found"),
        [
            ({}, ["a:1", "a:2", "b"]),
            ({"tasks": ("a:1",)}, ["a:1"]),
            ({"tasks": ("One",)}, ["a:1"]),
            ({"tasks": ("a:*",)}, ["a:1", "a:2"]),
            ({"tasks": ("b", "a:2")}, ["a:2", "b"]),
            ({"tags": ("x", "y")}, ["a:1", "a:2"]),
            ({"tags": ("s*",), "tasks": ("*",)}, ["a:1"]),
        ],
    )
    def test_patterns_of_one_kind_add_up_and_the_kinds_must_both_match(self, tagged, asked, found):
        loaded = load(tagged, LoadOptions(**asked))
        assert ids(loaded) == found
        assert loaded.filtered == bool(asked)
        assert loaded.warnings == ()

    def test_a_pattern_without_match_is_a_warning_beside_others(self, tagged):
        loaded = load(tagged, LoadOptions(tasks=("a:1", "typo")))
        assert ids(loaded) == ["a:1"]
        assert [str(warning) for warning in loaded.warnings] == ["--task: warning: 'typo' matches no task"]

    def test_warnings_never_hide_that_nothing_is_selected(self, tmp_path):
        files = {"eval.yaml": HEAD + "colour: red\ntasks: [t.yaml]", "t.yaml": TASK}
        found = problems(tmp_path, files, tasks=("typo",))
        assert found[0] == "eval.yaml: 0 tasks selected: none matches --task typo"
        assert found[1].startswith("eval.yaml:3:1: colour: warning: unknown key 'colour'")
        assert len(found) == 2

    def test_a_task_with_mistakes_is_not_reported_as_missing(self, tmp_path):
        files = {"eval.yaml": HEAD + "tasks: [t.yaml, u.yaml]", "t.yaml": TASK, "u.yaml": "- u\n"}
        found = problems(tmp_path, files, tasks=("t", "u"))
        assert [line.partition(" ")[0] for line in found] == ["u.yaml:1:1:"]


class TestVersions:
    @pytest.mark.parametrize("version", ["1.4", "'1.0'", "1.10", "1.99", "01.04", "''", "~", "' 1.4 '"])
    def test_every_1_x_is_read(self, tmp_path, version):
        files = {
            "eval.yaml": f"schemaVersion: {version}\n{HEAD}tasks: [t.yaml]",
            "t.yaml": TASK,
        }
        assert ids(suite(tmp_path, files)) == ["t"]

    def test_a_scenario_is_read_and_has_only_the_skills_it_declares(self, tmp_path):
        head = f"schemaVersion: '2.0'\nscenario: flow\n{HEAD}tasks: ['*.task']\n"
        files = {
            "eval.yaml": head,
            "none.task": TASK,
            "own.task": f"skill_directories: [skills]\n{TASK}",
            "skills/a.txt": "",
        }
        found = suite(tmp_path, files)
        assert [(task.id, task.no_skills) for task in found.tasks] == [("none", True), ("own", False)]


class TestSkillDirectories:
    def test_one_that_is_not_there_is_a_warning_at_both_levels(self, tmp_path):
        found = load(
            mock_suite(
                tmp_path, {"t": f"skill_directories: [gone]\n{TASK}"}, config=["skill_directories: [., nope]"]
            )
        )
        assert warnings(found) == [
            "5:26: config.skill_directories[1]: there is no directory 'nope'",
            "1:21: skill_directories[0]: there is no directory 'gone'",
        ]

    @pytest.mark.parametrize("line", ["skill_directories: [none]", "skill_directories: []"])
    def test_the_word_none_and_an_empty_list_are_no_directories(self, tmp_path, line):
        assert load(mock_suite(tmp_path, {"t": TASK}, config=[line])).warnings == ()

    def test_a_hook_may_create_it_and_the_files_of_a_task(self, tmp_path):
        head = "hooks: {before_run: [{command: make}]}"
        tasks = {
            "t": "inputs: {prompt: hi, files: [{path: a.txt}], context: {fixture: dir}, repos: [{type: worktree, source: r}]}\n"
        }
        found = load(mock_suite(tmp_path, tasks, head, ["skill_directories: [nope]"]))
        assert [warning.path for warning in found.warnings] == [
            "inputs.files[0].path",
            "inputs.context.fixture",
            "inputs.repos[0].source",
            "graders",
        ]


class TestFixtures:
    def test_a_folder_or_file_that_cannot_be_read_is_refused(self, tmp_path, monkeypatch):
        scan, may = os.scandir, os.access

        def scandir(path):
            if str(path).endswith("dir/closed"):
                raise PermissionError(13, "Permission denied", str(path))
            return scan(path)

        monkeypatch.setattr(os, "scandir", scandir)
        monkeypatch.setattr(
            os, "access", lambda path, mode: not str(path).endswith("b.txt") and may(path, mode)
        )
        files = {"dir/a.txt": "", "dir/sub/b.txt": "", "dir/closed/c.txt": ""}
        write_tree(tmp_path, files)
        suite = mock_suite(tmp_path, {"t": f"{TASK}".replace("hi}", "hi, context: {fixture: dir}}", 1)})
        with pytest.raises(SuiteError) as refused:
            load(suite)
        assert [problem.message for problem in refused.value.problems] == [
            "the folder 'dir/closed' cannot be read (Permission denied)",
            "the file 'dir/sub/b.txt' cannot be read",
        ]

    def test_the_right_to_run_enters_the_digest(self, tmp_path):
        write_tree(tmp_path, {"fixtures/run.sh": "x"})
        suite = mock_suite(tmp_path, {"t": TASK.replace("hi}", "hi, files: [{path: run.sh}]}", 1)})
        before = load(suite).digest
        (tmp_path / "fixtures/run.sh").chmod(0o755)
        assert load(suite).digest != before
