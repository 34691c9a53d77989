"""Reading documents: files, items and their ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec import UNSET
from tests.unit.m365.documents import SAMPLES, VALID, document, needs_corpus, read

from waza.errors import SuiteError, UsageError
from waza.kit.yaml import to_plain
from waza.m365.document.read import find_document, read_document, read_nodes

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


@pytest.mark.parametrize(
    ("named", "meant"),
    [
        ("tests.json", "evals/tests.json"),
        ("prompst.json", "prompts.json"),
        ("promtps", "prompts.json"),
        ("evasl/tests.json", "evals/tests.json"),
        ("evals/tets.json", "evals/tests.json"),
        ("a.json", ""),
        ("config.json", ""),
    ],
)
def test_a_file_that_is_not_there_may_be_near(
    named: str, meant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evals").mkdir()
    for name in ("prompts.json", "b.json", "config.yaml", "evals/tests.json", "evals/tests.csv"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    hint = f"; did you mean {Path(meant)}?" if meant else ""
    assert refusal(Path(named)) == [f"{Path(named)}: there is no such file{hint}"]


def test_reports_are_no_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("r.json", "r.csv", "r.HTML", "s.html"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    assert refusal(Path("r.csv")) == ["r.csv: is not a document, since documents are JSON; name r.json"]
    assert refusal(Path("r.HTML")) == ["r.HTML: is not a document, since documents are JSON; name r.json"]
    assert refusal(Path("s.html")) == [
        "s.html: is not a document, since documents are JSON; name the .json file"
    ]


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
    formats = [problem for problem in found.warnings if "is not a known format" in problem.message]
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
    assert (single.turn_path(0), thread.turn_path(1)) == (("items", 1), ("items", 2, "turns", 1))
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
        ("items[0].testId", "is not a key of the format, moved under 'extensions'", "warning"),
        ("items[0].notes", "is not a key of the format, moved under 'extensions'", "warning"),
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
    assert to_plain(found.root) == {"a": 1}
