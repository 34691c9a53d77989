"""Reading: JSON text with places, files, items and their ids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from tests.unit.m365.documents import SAMPLES, VALID, document, needs_corpus, read

from waza.errors import SuiteError, UsageError
from waza.kit.json_nodes import JsonError, dump, load
from waza.kit.yaml import Mapping, plain
from waza.m365.document import find_document, read_document, read_nodes

# --- JSON text ---


def test_nodes_know_their_places() -> None:
    root = load(b'\xef\xbb\xbf{\r\n  "a": [1,\n\t"\xc3\xa9", null],\n  "b": {"c": -1.5e2}}')
    assert plain(root) == {"a": [1, "é", None], "b": {"c": -150.0}}
    assert isinstance(root, Mapping)
    items: Any = root.entries["a"]
    assert [(node.line, node.column) for node in items.items] == [(2, 9), (3, 2), (3, 7)]
    assert (root.keys["b"].line, root.keys["b"].column) == (4, 3)


def test_escapes_are_those_of_json() -> None:
    text = r'"\ud83d\ude00 \u00e9 \/ \n \" \\ \u0000 \ud800"'
    assert plain(load(text.encode())) == '😀 é / \n " \\ \0 \ufffd'
    assert plain(load('"a\u2028b\u0085c\x7f"'.encode())) == "a\u2028b\u0085c\x7f"
    assert plain(load(b'{"<<": 1, "a b": 2}')) == {"<<": 1, "a b": 2}


@pytest.mark.parametrize(
    ("text", "line", "column", "said"),
    [
        ('{"a": 1,\n}', 1, 8, "a comma stands before a closing bracket; remove it"),
        ("[1,]", 1, 3, "a comma stands before a closing bracket; remove it"),
        ("[1\n 2]", 2, 2, "a ',' or ']' is missing here"),
        ('{"a": 1 "b": 2}', 1, 9, "a ',' or '}' is missing here"),
        ('{"a" 1}', 1, 6, "a ':' is missing behind the key"),
        ("{a: 1}", 1, 2, "a key in double quotes belongs here"),
        ("{'a': 1}", 1, 2, "a text stands in double quotes"),
        ('{"a": }', 1, 7, "a value is missing here"),
        ("[,]", 1, 2, "a value is missing before this comma"),
        ("[1 // one\n]", 1, 4, "JSON has no comments; remove it"),
        ("# x\n[]", 1, 1, "JSON has no comments; remove it"),
        ('{"a": [1', 1, 9, "the document ends here, but a bracket is still open"),
        ('["abc]', 1, 2, "the text that begins here is never closed; a '\"' is missing"),
        ('["a\nb"]', 1, 4, "a text may not go on in the next line; write \\n there, or close it with '\"'"),
        ('["a\tb"]', 1, 4, "a control character stands in a text; write \\u0009"),
        (r'["C:\dir"]', 1, 5, "this backslash begins no escape of JSON; write it as two"),
        ("[True]", 1, 2, "True is no value of JSON; write true"),
        ("[None]", 1, 2, "None is no value of JSON; write null"),
        ("[NaN]", 1, 2, "NaN is no value of JSON; write a number, or leave it out"),
        ("[yes]", 1, 2, "yes is no value of JSON; a text stands in double quotes"),
        ("[01]", 1, 3, "a ',' or ']' is missing here"),
        ("[]\n[]", 2, 1, "something stands behind the end of the document; remove it"),
        ("[" * 200, 1, 102, "nested deeper than 100 levels"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(text: str, line: int, column: int, said: str) -> None:
    with pytest.raises(JsonError) as refused:
        load(text.encode())
    error = refused.value
    assert (error.message, error.line, error.column) == (f"not valid JSON: {said}", line, column)


@pytest.mark.parametrize(
    ("data", "line", "column", "said"),
    [
        (b"", 0, 0, "the file is empty"),
        (b" \n", 0, 0, "the file is empty"),
        (b'{"a": 1,\n "a": 2}', 2, 2, "the key 'a' stands twice, on lines 1 and 2; keep one of them"),
        (b'{"a":\n "\xff"}', 2, 3, "the file is not UTF-8 text; save it as UTF-8"),
        ("[]".encode("utf-16"), 1, 1, "the file is not UTF-8 text; save it as UTF-8"),
        (b"[1e999]", 1, 2, "the number 1e999 is too large"),
        (b"[" + b"9" * 309 + b"]", 1, 2, f"the number {'9' * 40} is too large"),
        (b"[" + b"9" * 500 + b"]", 1, 2, "a number of more than 400 digits"),
    ],
)
def test_other_faults_of_a_file(data: bytes, line: int, column: int, said: str) -> None:
    with pytest.raises(JsonError) as refused:
        load(data)
    assert (refused.value.message, refused.value.line, refused.value.column) == (said, line, column)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, st.booleans(), st.sampled_from([None, 0, 2, "\t"]))
def test_what_json_writes_is_read_back(value: Any, ascii_only: bool, indent: Any) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert plain(load(text.encode())) == value
    assert json.loads(dump(value)) == value


@given(st.text("{}[]\",:\\u0aé 1-e.\n'", max_size=30))
def test_any_text_is_json_or_is_refused_as_json_is(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(JsonError):
            load(text.encode())
        return
    try:
        assert plain(load(text.encode())) == expected
    except JsonError as error:
        assert "twice" in error.message or "too large" in error.message  # noqa: PT017  # the only two more


def test_what_is_written_any_reader_can_read() -> None:
    data = {"a": "\ud800 😀", "b": [float("nan"), float("inf"), 1.5], "c": ({"d": "</script>"},)}
    assert json.loads(dump(data).encode()) == {
        "a": "\ufffd 😀",
        "b": [None, None, 1.5],
        "c": [{"d": "</script>"}],
    }


# --- files ---


def refusal(path: Path) -> list[str]:
    with pytest.raises(SuiteError) as refused:
        read_document(path)
    return [str(problem) for problem in refused.value.problems]


def test_files_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.json").write_text('{"items": [}', encoding="utf-8")
    assert refusal(tmp_path / "no.json") == ["no.json: there is no such file"]
    assert refusal(tmp_path) == [".: is a directory; name the file of a document"]
    assert refusal(tmp_path / "bad.json") == ["bad.json:1:12: not valid JSON: a value is missing here"]
    assert refusal(tmp_path / "a\0b.json")[0].endswith("cannot be read (embedded null byte)")


def test_all_mistakes_of_a_document_come_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "doc.json"
    file.write_text('{"items": [\n{"prompt": ""},\n{"promt": "x"}]}', encoding="utf-8")
    assert refusal(file) == [
        "doc.json:2:12: items[0].prompt: must not be empty",
        "doc.json:3:2: items[1].promt: unknown key 'promt'; did you mean 'prompt'?",
    ]


@needs_corpus
@pytest.mark.parametrize("path", [*VALID, *SAMPLES], ids=lambda path: path.stem)
def test_every_document_of_the_corpus_is_read(path: Path) -> None:
    found = read_document(path)
    data = json.loads(path.read_text(encoding="utf-8"))
    items = data if isinstance(data, list) else data.get("items") or data["prompts"]
    assert len(found.items) == len(items)
    assert len({item.id for item in found.items}) == len(items)
    assert found.data["schemaVersion"] == "1.7.0"
    formats = [problem for problem in found.warnings if "is no known format" in problem.message]
    assert list(found.warnings) == formats
    assert len(formats) == path.read_text(encoding="utf-8").count('"inline"')


# --- items ---


def test_an_item_is_known_by_its_own_id_or_its_name_or_its_number(tmp_path: Path) -> None:
    turns = [{"prompt": "a"}, {"prompt": "b", "response": ""}]
    found = read(
        tmp_path,
        document(
            {"prompt": "p", "extensions": {"id": "own"}},
            {"prompt": "p", "context": "c", "expected_response": "e", "response": "r"},
            {"turns": turns, "name": "thread"},
            {"turns": turns, "name": "thread"},
            {"turns": turns, "name": "named", "extensions": {"id": 7}},
            {"prompt": "p", "extensions": {"id": "own"}},
        ),
    )
    assert [item.id for item in found.items] == ["own", "item-2", "thread", "thread-2", "7", "own-2"]
    single, thread = found.items[1], found.items[2]
    (turn,) = single.turns
    assert (turn.prompt, turn.context, turn.expected_response, turn.response) == ("p", "c", "e", "r")
    assert single.thread is None
    assert [turn.response for turn in thread.turns] == [UNSET, ""]
    assert (single.place(0), thread.place(1)) == (("items", 1), ("items", 2, "turns", 1))
    assert [place for _, place in found.turns()][2:4] == [("items", 2, "turns", 0), ("items", 2, "turns", 1)]


def test_a_document_has_the_name_it_says_or_that_of_its_file(tmp_path: Path) -> None:
    assert read(tmp_path, document({"prompt": "p"}, metadata={"name": "desk"})).name == "desk"
    assert read(tmp_path, document({"prompt": "p"}, metadata={"name": ""})).name == "doc"
    assert read(tmp_path, document({"prompt": "p"})).default_evaluators is None
    assert read(tmp_path, document({"prompt": "p"}, default_evaluators={})).default_evaluators == {}


def test_whole_numbers_may_be_written_as_floats(tmp_path: Path) -> None:
    item = {
        "prompt": "p",
        "citations": [{"index": 1.0}],
        "scores": {"citations": {"count": 2.0, "result": "pass", "threshold": 1.0}},
    }
    assert read(tmp_path, document(item)).items[0].turns[0].citations[0].index == 1


def test_keys_of_other_documentation_are_kept_with_a_warning(tmp_path: Path) -> None:
    item = {"prompt": "p", "testId": "T-1", "notes": "n", "extensions": {"notes": "other"}}
    with pytest.raises(SuiteError, match="unknown key 'notes'; move it under 'extensions'"):
        read(tmp_path, document(item))
    del item["extensions"]
    found = read(tmp_path, document(item))
    assert found.data["items"] == [{"prompt": "p", "extensions": {"testId": "T-1", "notes": "n"}}]
    assert [(w.path, w.message, w.severity) for w in found.warnings] == [
        ("items[0].testId", "is no key of the format, moved under 'extensions'", "warning"),
        ("items[0].notes", "is no key of the format, moved under 'extensions'", "warning"),
    ]


# --- which document ---


def test_the_document_that_is_meant_where_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no prompts\.json, evals\.json, tests\.json here or in evals/"):
        find_document(tmp_path)
    (tmp_path / "evals").mkdir()
    for name in ("evals/tests.json", "evals/prompts.json", "tests.json", "evals.json", "prompts.json"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
        assert find_document(tmp_path) == tmp_path / name


def test_nodes_come_with_the_text_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'\xef\xbb\xbf{"a":\r\n1}')
    text, found = read_nodes(tmp_path / "a.json")
    assert text == '{"a":\r\n1}'
    assert plain(found.root) == {"a": 1}
