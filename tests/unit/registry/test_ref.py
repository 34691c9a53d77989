from __future__ import annotations

import pytest

from waza.registry.ref import Ref, RefError, parse_ref


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("github.com/acme/graders@v1", ("github.com", "acme", "graders", "", "", "v1")),
        ("github.com/acme/graders#tone@v1.2.0", ("github.com", "acme", "graders", "", "tone", "v1.2.0")),
        ("h/o/r/a/b#e@v", ("h", "o", "r", "a/b", "e", "v")),
        ("  h/o/r/a.yaml@main\n", ("h", "o", "r", "a.yaml", "", "main")),
        ("h/o/r@feature/x@y#z", ("h", "o", "r", "", "", "feature/x@y#z")),
        ("h/o/r#a#b@v", ("h", "o", "r", "", "a#b", "v")),
        ("h/o/r/./a//b/@v", ("h", "o", "r", "a/b", "", "v")),
        ("h/o/r/.@v", ("h", "o", "r", "", "", "v")),
        ("h/o/.github/日本@v", ("h", "o", ".github", "日本", "", "v")),
        ("h/o/r/a..b@v", ("h", "o", "r", "a..b", "", "v")),
    ],
)
def test_parts(text: str, parts: tuple[str, ...]):
    ref = parse_ref(text)
    assert ref == Ref(*parts)
    assert parse_ref(str(ref)) == ref
    assert ref.url == f"https://{parts[0]}/{parts[1]}/{parts[2]}.git"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        (" \t", "is empty"),
        ("h/o/r", "the version is missing"),
        ("h/o/r@", "the version is missing"),
        ("h/o/r#e", "the version is missing"),
        ("@v1", "names no repository"),
        ("h@v1", "names no repository"),
        ("h/o@v1", "names no repository"),
        ("h\\o\\r@v1", "backslash"),
        ("h/o/r#@v1", "the export is missing"),
        ("/o/r@v1", "'' is not a valid host"),
        ("h//r@v1", "'' is not a valid owner"),
        ("h/o/@v1", "'' is not a valid repository"),
        ("./o/r@v1", "'.' is not a valid host"),
        ("h/../r@v1", "'..' is not a valid owner"),
        ("h/o/..@v1", "'..' is not a valid repository"),
        ("https://h/o/r@v1", "'https:' is not a valid host"),
        ("h:8080/o/r@v1", "'h:8080' is not a valid host"),
        ("ext::sh/o/r@v1", "is not a valid host"),
        ("-h/o/r@v1", "'-h' is not a valid host"),
        ("h/o/r/../x@v1", "'..' is not allowed"),
        ("h/o/r/a/..@v1", "'..' is not allowed"),
        ("h/o/r@--upload-pack=x", "is not a valid version"),
        ("h/o/my repo@v1", "neither blanks"),
        ("h/o/r @v1", "neither blanks"),
        ("h/o/r@v 1", "neither blanks"),
        ("h/o/r\u2028@v1", "neither blanks"),
        ("h/o/r\x00@v1", "neither blanks"),
        ("h/o/r\udcff@v1", "neither blanks"),
        ("h/o/r\u202e@v1", "neither blanks"),
    ],
)
def test_texts_that_are_no_refs(text: str, said: str):
    with pytest.raises(RefError) as caught:
        parse_ref(text)
    assert said in str(caught.value)
