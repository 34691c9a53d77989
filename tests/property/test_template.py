from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from waza.kit.template import find_mistakes, render

KEYS = st.text(st.characters(exclude_categories=["Z", "C"], exclude_characters="{}|"), min_size=1, max_size=6)
# Pieces that look like templates without being references, and text with no braces at all.
PLAIN = st.one_of(
    st.text(st.characters(exclude_characters="{}")),
    st.sampled_from(
        ["{", "}", "{{ .Values.x }}", "{% if %}", "${{ x }}", "{{fixture:f}}", "{{if .Vars.a}}", "{{end}}"]
    ),
)
VALUES = st.one_of(
    st.text(), st.sampled_from(["{{.Vars.a}}", "{{", "}}", ".Vars.a", "  ", "{{- .TaskName -}}"])
)


@given(st.text('{}.-| \nVarsx"`index'))
def test_text_without_references_is_unchanged(text: str) -> None:
    if find_mistakes(text, ()) == []:  # any reference at all would be unknown
        assert render(text, {}) == text


@given(st.lists(PLAIN))
def test_other_braces_are_unchanged(pieces: list[str]) -> None:
    text = "".join(pieces)

    assert render(text, {"Vars.a": "value"}) == text


@given(st.lists(st.tuples(PLAIN, KEYS, VALUES)), PLAIN)
def test_rendering_is_one_pass_over_the_text(parts: list[tuple[str, str, str]], end: str) -> None:
    variables = {f"Vars.{key}": value for _, key, value in parts}
    text = "".join(f"{plain}{{{{.Vars.{key}}}}}" for plain, key, _ in parts) + end
    expected = "".join(plain + variables[f"Vars.{key}"] for plain, key, _ in parts) + end

    assert render(text, variables) == expected


@given(st.text(), KEYS, VALUES, st.text())
def test_the_index_form_takes_any_key(before: str, key: str, value: str, after: str) -> None:
    before, after = before.replace("{", ""), after.replace("{", "")
    key = f"{key} x".replace('"', "").replace("\\", "")

    assert (
        render(f'{before}{{{{index .Vars "{key}"}}}}{after}', {f"Vars.{key}": value})
        == before + value + after
    )
