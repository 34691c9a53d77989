"""Finding custom evaluators: names, files, kinds, and what is said about mistakes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.support.evaluators import JUDGE, PROMPTY, code_only, write_evaluator

from waza.m365.custom.custom_result import CustomKind
from waza.m365.custom.discover import Discovery, discover

CODE = code_only("{'score': 1}")
WRITTEN = Path("custom-evaluators")


def messages(found: Discovery, severity: str = "error") -> list[str]:
    return [problem.message for problem in found.problems if problem.severity == severity]


def only(tmp_path: Path, name: str) -> tuple[CustomKind, tuple[str, ...]]:
    (evaluator,) = discover(tmp_path, [name]).evaluators
    return evaluator.kind, evaluator.classes


def test_every_mistake_is_reported_at_once_and_right_ones_are_found(tmp_path):
    write_evaluator(tmp_path, "good", CODE)
    write_evaluator(tmp_path, "exactmatch", CODE)
    write_evaluator(tmp_path, "broken", "class Broken(:\n")
    write_evaluator(tmp_path, "empty", "x = 1\n")
    (tmp_path / "custom-evaluators" / "lost").mkdir()
    found = discover(tmp_path, ["good", "lost", "broken", "exactmatch", "empty", "nowhere", "good"])
    assert [evaluator.name for evaluator in found.evaluators] == ["good"]
    assert messages(found) == [
        "Custom evaluator 'lost' is missing required file 'lost.py'",
        "Custom evaluator 'broken' failed to import: SyntaxError: invalid syntax",
        "Custom evaluator 'exactmatch' has the name of the built-in evaluator ExactMatch",
        "Custom evaluator 'empty' has no class",
        "Unknown evaluator 'nowhere'",
    ]


def test_a_syntax_error_has_its_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_evaluator(tmp_path, "broken", "x = 1\nclass Broken(:\n")
    (problem,) = discover(tmp_path, ["broken"]).problems
    place = Path("custom-evaluators", "broken", "broken.py")
    assert str(problem).startswith(f"{place}:2:14: Custom evaluator 'broken' failed to import: SyntaxError")


@pytest.mark.parametrize(
    "source",
    [b"class A:\n  x = '\xff'\n", b"x = 1\0\n", b"(" * 500 + b"class A: pass", b"# coding: nonsense\n"],
)
def test_what_python_cannot_read_is_an_import_failure(tmp_path, source):
    write_evaluator(tmp_path, "odd", "")
    (tmp_path / "custom-evaluators" / "odd" / "odd.py").write_bytes(source)
    (message,) = messages(discover(tmp_path, ["odd"]))
    assert message.startswith("Custom evaluator 'odd' failed to import: ")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Tone_Check", "did you mean 'tone_check'?"),
        ("tone_chek", "did you mean 'tone_check'?"),
        ("relevance", "did you mean 'Relevance'?"),
        ("citation", "did you mean 'Citations'?"),
        ("mine", f"write it as {WRITTEN / 'mine' / 'mine.py'}"),
        ("match", f"write it as {WRITTEN / 'match' / 'match.py'}"),
        ("toolCallAccurac", f"write it as {WRITTEN / 'toolCallAccurac' / 'toolCallAccurac.py'}"),
        ("domain_relevance", f"write it as {WRITTEN / 'domain_relevance' / 'domain_relevance.py'}"),
    ],
)
def test_an_unknown_name_comes_with_advice(tmp_path, monkeypatch, name, hint):
    monkeypatch.chdir(tmp_path)
    write_evaluator(tmp_path, "tone_check", CODE)
    (problem,) = discover(tmp_path, [name]).problems
    assert (problem.message, problem.hint) == (f"Unknown evaluator '{name}'", hint)


def test_without_the_folder_the_advice_is_to_start_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (problem,) = discover(tmp_path, ["zzz"]).problems
    assert problem.hint == "there is no folder custom-evaluators; start from the directory that has it"


def test_classes_are_listed_in_the_order_of_the_file(tmp_path):
    code = """
from pathlib import Path
try:
    import numpy
    class Fast: ...
except ImportError:
    class Slow: ...
def factory():
    class Inner: ...
class Last:
    class Nested: ...
class Fast: ...
"""
    write_evaluator(tmp_path, "several", code)
    assert only(tmp_path, "several") == ("code", ("Fast", "Slow", "Last"))
    (warning,) = messages(discover(tmp_path, ["several"]), "warning")
    assert warning == "Custom evaluator 'several' has several classes; 'Fast', the first, is the evaluator"


def test_files_must_be_files_in_the_very_spelling(tmp_path):
    folder = write_evaluator(tmp_path, "tone", CODE, beside={"Tone.prompty": PROMPTY, "tone.prompty/x": ""})
    assert only(tmp_path, "tone") == ("code", ("Check",))
    (folder / "tone.py").rename(folder / "TONE.py")
    assert messages(discover(tmp_path, ["tone"])) == [
        "Custom evaluator 'tone' is missing required file 'tone.py'"
    ]


def test_a_linked_folder_counts(tmp_path):
    write_evaluator(tmp_path / "shared", "tone", CODE)
    (tmp_path / "custom-evaluators").mkdir()
    (tmp_path / "custom-evaluators" / "tone").symlink_to(tmp_path / "shared" / "custom-evaluators" / "tone")
    assert only(tmp_path, "tone") == ("code", ("Check",))


def test_reading_warns_of_nothing_in_peoples_code(tmp_path):
    write_evaluator(tmp_path, "old", CODE + "x = '\\d'\nassert (x, 'always true')\n")
    assert discover(tmp_path, ["old"]).problems == []


@pytest.mark.parametrize(
    "code",
    [
        "from promptflow.client import load_flow",
        "import promptflow as pf",
        "import importlib; importlib.import_module('promptflow.client')",
        "x = dict(model_config=1)",
        "def f(*, model_config): ...",
        "f = lambda x: x.load_flow",
        "path = __file__.replace('.py', '.prompty')",
        "name = f'{__name__}.prompty'",
    ],
)
def test_machinery_of_judges_in_code_is_noticed(tmp_path, code):
    write_evaluator(tmp_path, "check", CODE + code)
    (warning,) = messages(discover(tmp_path, ["check"]), "warning")
    assert warning.startswith("Custom evaluator 'check' is code-only but refers to ")


def test_long_expressions_are_no_obstacle(tmp_path):
    write_evaluator(tmp_path, "check", CODE + "x = " + " + ".join(["'a'"] * 500) + "\ny = model_config")
    assert len(messages(discover(tmp_path, ["check"]), "warning")) == 1


# --- prompts of judges ---


def warnings_of(tmp_path: Path, prompty: str, code: str = JUDGE) -> list[str]:
    write_evaluator(tmp_path, "tone", code, prompty)
    found = discover(tmp_path, ["tone"])
    assert [evaluator.kind for evaluator in found.evaluators] == ["judge"]
    return [f"{problem.line} {problem.message}; {problem.hint}" for problem in found.problems]


BLANK = "Custom evaluator 'tone': without an entry in 'inputs:', variables of the prompt render empty: "
INPUTS = """\
inputs:
  user_prompt: {type: string}
  response: {type: string}
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (INPUTS, "", f"13 {BLANK}response, user_prompt; list them there, such as response: {{type: string}}"),
        ("  response: {type: string}\n", "", f"18 {BLANK}response; list them there, such as response: "),
        ("{{user_prompt}}", "{% if context %}{{user_prompt}}{% endif %}", f"16 {BLANK}context; list them "),
        (
            "{{user_prompt}}",
            "{{prompt}}",
            f"16 {BLANK}prompt; list them there; 'prompt' is reserved, so call it user_prompt",
        ),
        (INPUTS, "sample: {user_prompt: a}\n", f"17 {BLANK}response; list them there, such as response: "),
    ],
)
def test_variables_that_no_input_fills_are_reported(tmp_path, old, new, said):
    (warning,) = warnings_of(tmp_path, PROMPTY.replace(old, new))
    assert warning.startswith(said)


@pytest.mark.parametrize(
    ("prompty", "said"),
    [
        ("", "tone.prompty has no frontmatter between two lines '---'"),
        ("---\nmodel: [\n---\nuser:\nA\n", "tone.prompty:"),
        ("---\ninputs: a\n---\nuser:\nA\n", "tone.prompty: 'inputs' must be a mapping"),
        (
            "---\nname: a\n---\nuser:\n{{ a\n",
            "tone.prompty: the template cannot be rendered: TemplateSyntaxError",
        ),
    ],
)
def test_prompts_that_cannot_be_asked_are_reported(tmp_path, prompty, said):
    (warning,) = warnings_of(tmp_path, prompty)
    assert warning.startswith(f"0 Custom evaluator 'tone' will not work: {said}")


def test_a_warning_is_at_the_prompt(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_evaluator(tmp_path, "tone", JUDGE, PROMPTY.replace(INPUTS, ""))
    (problem,) = discover(tmp_path, ["tone"]).problems
    assert str(problem).startswith(f"{WRITTEN / 'tone' / 'tone.prompty'}:13:1: warning: Custom evaluator")


@pytest.mark.parametrize(
    ("prompty", "code"),
    [
        (PROMPTY, JUDGE),
        (
            PROMPTY + "{% set a = 1 %}{{a}}{% for b in range(2) %}{{b}}{{loop.index}}{% endfor %}"
            "{% macro m(c) %}{{c}}{% endmacro %}{{m(1)}}{% raw %}{{d}}{% endraw %}",
            JUDGE,
        ),
        (PROMPTY.replace(INPUTS, ""), CODE),
        (PROMPTY.replace(INPUTS, ""), '"""No load_flow here."""\n' + CODE),
        ("", CODE),
    ],
)
def test_prompts_of_which_there_is_nothing_to_say(tmp_path, prompty, code):
    assert warnings_of(tmp_path, prompty, code) == []


def test_without_jinja2_nothing_is_reported_of_variables(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert warnings_of(tmp_path, PROMPTY.replace(INPUTS, "")) == []
