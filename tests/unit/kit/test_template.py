from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waza.errors import WazaError
from waza.kit.template import TemplateError, TemplateMistake, fill, find_mistakes, quote, render

VARIABLES = {
    "Vars.lang": "Go",
    "Vars.my-key": "dash",
    "Vars.a.b": "dot",
    "Vars.two words": "spaced",
    "JobID": "run-1",
    "TaskName": "Explain",
    "Iteration": "2",
    "Attempt": "3",
    "Timestamp": "2026-01-01T00:00:00Z",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{.Vars.lang}}", "Go"),
        ("{{ .Vars.lang }}", "Go"),
        ("a{{\t.Vars.lang\n}}b", "aGob"),
        ("{{.Vars.my-key}} {{.Vars.a.b}}", "dash dot"),
        ('{{index .Vars "two words"}}', "spaced"),
        ("{{ index .Vars `lang` }}", "Go"),
        (
            "{{.JobID}}/{{.TaskName}}/{{.Iteration}}/{{.Attempt}}/{{.Timestamp}}",
            "run-1/Explain/2/3/2026-01-01T00:00:00Z",
        ),
        ('{"lang": {{.Vars.lang}}}', '{"lang": Go}'),
        ("${{.Vars.lang}}", "$Go"),
    ],
)
def test_exact_references_are_replaced(text: str, expected: str) -> None:
    assert render(text, VARIABLES) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a  {{- .Vars.lang }}  b", "aGo  b"),
        ("a  {{ .Vars.lang -}}  b", "a  Gob"),
        ("a\n {{- .Vars.lang -}} \r\n\tb", "aGob"),
        ("{{.Vars.lang -}}  {{.TaskName}}", "GoExplain"),
        ("{{.Vars.lang}}  {{- .TaskName}}", "GoExplain"),
        ("{{- .Vars.lang -}}", "Go"),
        ("a\u00a0{{- .Vars.lang}}", "a\u00a0Go"),  # Go trims ASCII blanks only
    ],
)
def test_trim_marks_take_the_blanks_around_away(text: str, expected: str) -> None:
    assert render(text, VARIABLES) == expected


def test_trimming_leaves_values_alone() -> None:
    assert render("{{.Vars.a}}{{- .Vars.a}}", {"Vars.a": " x "}) == " x  x "


@pytest.mark.parametrize(
    "text",
    [
        '{{ .Values.x }} {% if %} {# #} ${HOME} <b>&"',
        "${{ secrets.TOKEN }}",
        "{{fixture:file.txt}}",
        "{{ }}",
        "{{",
        "}} {{ .Vars",
        "{{.Vars.}}",
        "{{.Vars}}",
        "{{-.Vars.lang}}",  # Go wants a blank after the mark
        "{{ . Vars.lang }}",
        "{{if .Vars.lang}}yes{{end}}",
        "{{.Vars.lang | upper}}",
        "{{.Vars.lang|upper}}",
        "{{.TaskName.x}}",
        "{{.TaskNames}}",
        "{{.vars.lang}}",
        "{{/* .Vars.lang */}}",
        "no braces at all",
        "",
    ],
)
def test_every_other_brace_stays_byte_for_byte(text: str) -> None:
    assert render(text, VARIABLES) == text


def test_a_value_is_neither_rendered_again_nor_escaped() -> None:
    variables = {"Vars.a": "{{.Vars.b}} <b>&\"' \\1 \\g<0>", "Vars.b": "secret"}

    assert render("[{{.Vars.a}}]", variables) == "[{{.Vars.b}} <b>&\"' \\1 \\g<0>]"


def test_two_values_do_not_join_into_a_reference() -> None:
    assert render("{{.Vars.a}}{{.Vars.b}}", {"Vars.a": "{{.Vars", "Vars.b": ".a}}"}) == "{{.Vars.a}}"


def test_an_unknown_key_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(TemplateError, match=r"\{\{\.Vars\.lnag\}\}.*did you mean `Vars\.lang`") as caught:
        render("Say {{.Vars.lnag}}", VARIABLES)

    assert isinstance(caught.value, WazaError)


def test_a_name_that_this_place_does_not_have_is_an_error() -> None:
    with pytest.raises(TemplateError, match="TaskName"):
        render("{{.TaskName}}", {})


def test_check_lists_every_unknown_reference_in_order() -> None:
    text = 'a {{.Vars.lnag}} {{.Vars.lang}} {{index .Vars "nope"}} {{.JobID}}'

    assert find_mistakes(text, {"Vars.lang"}) == [
        TemplateMistake("Vars.lnag", 2, "Vars.lang", "error"),
        TemplateMistake("Vars.nope", text.index("{{index"), "", "error"),
        TemplateMistake("JobID", text.index("{{.JobID"), "", "error"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "{{if .Vars.lang}}",
        "{{.Vars.lang | upper}}",
        "{{.Vars.lang|upper}}",
        '{{ index .Vars "lang" | upper }}',
        "{{-.Vars.lang}}",
        "{{if eq .TaskName `x`}}",
        "{{with .Vars.lang}}",
    ],
)
def test_check_warns_of_known_variables_in_actions_that_are_not_evaluated(text: str) -> None:
    found = find_mistakes(f"see {text}", VARIABLES.keys())

    assert [(mistake.offset, mistake.severity) for mistake in found] == [(4, "warning")]
    assert "stays as written" in found[0].message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{{ .Values.x }}",
        "{{ .Values.TaskName }}",
        "{{if .Vars.other}}",
        "{{.Vars.lang}}",
        "${{ vars.lang }}",
    ],
)
def test_check_is_silent_about_everything_else(text: str) -> None:
    assert find_mistakes(text, VARIABLES.keys()) == []


def test_the_message_of_a_mistake_is_a_sentence() -> None:
    (mistake,) = find_mistakes("{{.Vars.lnag}}", {"Vars.lang"})
    (warning,) = find_mistakes('{{if index .Vars "two words"}}', {"Vars.two words"})

    assert mistake.message == "there is no variable `Vars.lnag`; did you mean `Vars.lang`?"
    assert '{{index .Vars "two words"}}' in warning.message


@pytest.mark.parametrize(
    "text", ["{{" * 50_000, "{{- " + " " * 100_000, "{{.Vars." + "x" * 100_000, "{{index .Vars " * 20_000]
)
def test_hostile_text_is_read_in_one_pass(text: str) -> None:
    assert render(text, VARIABLES) == text
    assert find_mistakes(text, VARIABLES.keys()) == []


@given(st.text() | st.text('{}."` -Vars', max_size=40))
def test_a_quoted_text_renders_as_itself(text):
    for part in ("", "{{.Vars.x}}", "{{- .TaskName -}}", '{{"{{"}}', "{{{.Attempt}}}", "{{`{{`}}{{.Vars.x}}"):
        written = part + text + part
        assert fill(quote(written, '{{"{{"}}'), {}) == written
        assert render(quote(written, "{{.Vars.open}}"), {"Vars.open": "{{"}) == written
