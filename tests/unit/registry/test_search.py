from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.support.program import write_tree

import waza.registry.search
from waza.model.loaded import RegistrySource
from waza.registry.search import IndexHit, search

TONE = {
    "ref": "h/o/tone@v1",
    "name": "tone",
    "summary": "Judges the tone",
    "tags": ["style", "Élan"],
    "stars": 7,
}
FACT = {"ref": "h/o/fact@v2", "kind": "grader", "summary": "Checks facts \U0001f600\x7f", "later": {"x": 1}}
SUITE = {"ref": "h/o/suite@v3", "kind": "eval", "name": "A suite about tone"}
INDEX = json.dumps({"entries": [TONE, FACT, SUITE], "generated": "today"})  # with pairs of surrogates


class Answers(BaseHTTPRequestHandler):
    answers: dict[str, tuple[int, bytes]] = {}

    def do_GET(self) -> None:
        status, body = self.answers.get(self.path, (404, b"no such page"))
        if status == 0:
            self.wfile.write(body)
            return
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("NO_PROXY", "*")
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


def found(text: str, url: str, base: Path, kind: str = "") -> list[str]:
    hits, failures = search(text, [RegistrySource(name="one", url=url)], base, kind)
    assert failures == []
    return [hit.ref for hit in hits]


def test_words_are_sought_in_ref_name_summary_and_tags(tmp_path: Path):
    write_tree(tmp_path, {"index.json": INDEX})
    assert search("tone", [RegistrySource(name="one", url=".")], tmp_path)[0] == [
        IndexHit(ref="h/o/tone@v1", kind="grader", description="Judges the tone", stars=7, registry="one"),
        IndexHit(ref="h/o/suite@v3", kind="eval", description="A suite about tone", stars=0, registry="one"),
    ]
    assert found("TONE judges", ".", tmp_path) == ["h/o/tone@v1"]
    assert found("élan", ".", tmp_path) == ["h/o/tone@v1"]
    assert found("h/o/fact", ".", tmp_path) == ["h/o/fact@v2"]
    assert found("\U0001f600", ".", tmp_path) == ["h/o/fact@v2"]
    assert found("tone", ".", tmp_path, kind="eval") == ["h/o/suite@v3"]
    assert found("", ".", tmp_path) == ["h/o/tone@v1", "h/o/fact@v2", "h/o/suite@v3"]
    assert found("tone facts", ".", tmp_path) == []


def test_where_an_index_may_be(tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch):
    yaml_index = "entries:\n- {ref: h/o/tone@v1, name: tone}\n"
    write_tree(tmp_path, {"a/index.json": INDEX, "b/index.yaml": yaml_index, "c/other.yml": yaml_index})
    answers = {"/index.json": (200, INDEX.encode()), "/d/my.yaml": (200, yaml_index.encode())}
    monkeypatch.setattr(Answers, "answers", answers)
    monkeypatch.setenv("HOME", str(tmp_path))
    places = ["a", "a/index.json", "b", "c/other.yml", "~/a", str(tmp_path / "b"), (tmp_path / "a").as_uri()]
    for url in [*places, server, f"{server}/", f"{server}/index.json", f"{server}/d/my.yaml"]:
        assert found("tone", url, tmp_path)[0] == "h/o/tone@v1", url


def test_a_lower_number_comes_first_and_a_ref_is_reported_once(tmp_path: Path):
    for name, entries in (("far", [TONE, FACT]), ("near", [{**TONE, "summary": "from near by"}])):
        write_tree(tmp_path, {f"{name}/index.json": json.dumps({"entries": entries})})
    sources = [
        RegistrySource(name="far", url="far"),
        RegistrySource(name="near", url="near", priority=99),
    ]
    hits, failures = search("", sources, tmp_path)
    assert [(hit.ref, hit.registry) for hit in hits] == [("h/o/tone@v1", "near"), ("h/o/fact@v2", "far")]
    assert hits[0].description == "from near by"
    assert failures == []


def test_why_a_registry_cannot_be_asked(tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(waza.registry.search, "MAX_INDEX", 4 * 2**20)
    deep = "[" * 100_000
    write_tree(
        tmp_path,
        {
            "list.json": "[1]",
            "empty.yaml": "",
            "broken.json": "{",
            "ref.json": '{"entries": [{"name": "x"}]}',
            "large.json": b" " * (4 * 2**20 + 1),
            "latin.yaml": b"a: \xff",
            "deep.json": f'{{"entries": {deep}',
        },
    )
    answers = {"/down/index.json": (500, b""), "/odd/index.json": (0, b"this is not HTTP\r\n\r\n")}
    monkeypatch.setattr(Answers, "answers", answers)
    said = {
        "gone": "No such file",
        "list.json": "must be a mapping of keys, not a list",
        "empty.yaml": "must be a mapping of keys, not nothing",
        "broken.json": "Expecting property name",
        "ref.json": "'ref' is missing",
        "large.json": "larger than 4 MB",
        "latin.yaml": "not UTF-8",
        "deep.json": "recursion",
        "file:///gone": "No such file",
        f"{server}/nothing": "404",
        f"{server}/down": "500",
        f"{server}/odd": "this is not HTTP",
        "http://127.0.0.1:9/": "refused",
        "http://[": "Invalid IPv6",
        "http://": "no host given",
    }
    write_tree(tmp_path, {"good/index.json": INDEX})
    sources = [RegistrySource(name=f"r{n}", url=url) for n, url in enumerate(said)]
    hits, failures = search("fact", [*sources, RegistrySource(name="good", url="good")], tmp_path)
    assert [hit.ref for hit in hits] == ["h/o/fact@v2"]
    for source, reason, failure in zip(sources, said.values(), failures, strict=True):
        assert failure.startswith(f"{source.name} ({source.url}): ")
        assert reason in failure
