"""Names and texts of every script, on consoles of every encoding; and text that must not do anything."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from tests.support.program import Ended, command, environment, strict_json, waza, write_tree

EVIL = "</script><script>window.pwn=1</script><img src=x onerror=pwn=1>"
NAME = r"""bad \x01 \x1b[31m \ufffe ]]> <&\" 🎯 \u202eעברית | `x` @user #12"""
SAYS = rf"{EVIL} \x1b]0;title\x07 \u202e ﷽ e\u0301 C:\\temp\\new \0 ```\n# head\n[a](javascript:x) <!-- @user #12 | x"
SUITE = rf"""
name: "{NAME}"
skill: "ключ\x07 鍵"
config: {{executor: mock, model: mödel, max_attempts: 2}}
graders:
  - {{type: text, name: "gr <b>|\x1b", config: {{contains: ["never \x02 </script>"]}}}}
  - {{type: program, name: raw, config: {{command: sh, args: [-c, "printf 'a\\377\\033[2Jb' >&2; cat >&2; exit 1"]}}}}
tasks: ["tasks/*.yaml", "ünï/*.yaml"]
"""
TASK = rf"""
id: "{NAME}"
tags: ["é🎯"]
inputs: {{prompt: "q\u2028r \x07"}}
mock:
  output: "{SAYS}"
  tool_calls: [{{name: "t\x1b", args: {{"k\0": "v\ufffe", path: "C:\\dir\\файл"}}, result: "\U0001F3AF"}}]
"""
PLAIN_TASK = """
id: ünï
inputs: {prompt: p, files: [{path: "файл 🎯.txt", content: x}]}
graders: [{type: file, name: f, config: {must_exist: ["файл 🎯.txt"]}}]
"""
READABLE = r"""bad \x01 \x1b[31m \ufffe ]]> <&" 🎯 """


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("strange")
    return write_tree(
        root, {"eval.yaml": SUITE, "tasks/a.yaml": TASK, "ünï/b.yaml": PLAIN_TASK, "fixtures/a": ""}
    )


def run(root: Path, *args: str, env: dict[str, str] | None = None) -> Ended:
    return waza("run", "eval.yaml", *args, cwd=root, env=env)


CONSOLES = {
    "UTF-8": {},
    "LANG=C": {"LANG": "C", "PYTHONUTF8": "0"},
    "ASCII": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "C locale": {"LC_ALL": "C", "PYTHONUTF8": "0"},
    "cp1252": {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"},
    "cp437": {"PYTHONIOENCODING": "cp437"},
}


@pytest.mark.parametrize("console", CONSOLES)
def test_any_console_shows_what_it_can_and_never_breaks(strange: Path, tmp_path: Path, console: str):
    done = subprocess.run(
        command("run", "eval.yaml", "-v", "--interpret", "-o", tmp_path / "o.json"),
        cwd=strange, env=environment(CONSOLES[console]), capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    encoding = CONSOLES[console].get(
        "PYTHONIOENCODING", "utf-8" if console in ("UTF-8", "LANG=C") else "ascii"
    )
    assert done.returncode == 1, done.stderr
    for text in (done.stdout.decode(encoding, "strict"), done.stderr.decode(encoding, "strict")):
        assert "Traceback" not in text
        assert r"bad \x01 \x1b[31m \ufffe ]]> <&" in text
        assert ("🎯" if encoding == "utf-8" else r"\U0001f3af") in text
        assert {char for char in text if ord(char) < 32} <= {"\n"}
        assert not set(text) & set("\x7f\u202e\u2028\ufffe")
    out = done.stdout.decode(encoding)
    assert f"{'✗' if encoding == 'utf-8' else 'x'} bad" in out
    assert "FAILED TASKS" in out
    found = strict_json((tmp_path / "o.json").read_bytes())
    assert found["tasks"][0]["test_id"].startswith("bad \x01 \x1b[31m \ufffe ]]>"), (
        "files have the texts as they are"
    )
    assert "🎯".encode() in (tmp_path / "o.json").read_bytes()


def test_json_on_standard_output_is_utf8_whatever_the_console(strange: Path):
    done = subprocess.run(
        command("run", "eval.yaml", "--json", "--no-save"),
        cwd=strange, env=environment(CONSOLES["ASCII"]), capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    assert strict_json(done.stdout)["tasks"][0]["runs"][0]["final_output"].startswith(EVIL)


def test_junit_parses_and_names_can_be_read(strange: Path):
    run(strange, "--no-save", "--reporter", "junit:отчёт.xml")
    root = ET.parse(strange / "отчёт.xml").getroot()  # noqa: S314  # our own report
    cases = list(root.iter("testcase"))
    assert cases[0].attrib["name"].startswith(READABLE)
    assert cases[0].attrib["classname"] == r"ключ\x07 鍵"
    assert cases[1].attrib["name"] == "ünï"
    failure = cases[0].find("failure")
    assert failure is not None
    assert failure.text is not None
    assert r"[FAIL] gr <b>|\x1b (text): score=0.00 — no 'never \x02 </script>' in the output" in failure.text
    assert r"exit status 1: a�\x1b[2Jb" in failure.text


@pytest.mark.parametrize("form", ["github-comment", "markdown"])
def test_html_and_links_of_a_model_stay_text(strange: Path, form: str):
    if form == "markdown":
        run(strange, "--no-save", "--reporter", "markdown:m.md")
        text = (strange / "m.md").read_text(encoding="utf-8")
    else:
        text = run(strange, "--no-save", "--format", form).out
    assert "window.pwn=1" in text
    assert not set(text) & set("\x01\x07\x1b\u202e\u2028\ufffe\0")
    shown = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", re.sub(r"\\`", "", text))  # without code spans
    assert "<" not in shown.replace("&lt;", "")
    assert not re.search(r"[@#]\w", shown)
    rows = [line for line in text.splitlines() if line.startswith("| bad")]
    assert len(rows) == 1
    cells = re.findall(r"(?<!\\)\|", rows[0])
    assert len(cells) == (5 if form == "github-comment" else 6)
    assert "```" not in [line.strip() for line in text.splitlines()]


def test_files_that_are_named_after_tasks_and_models(strange: Path, tmp_path: Path):
    out, talk = tmp_path / "výstup", tmp_path / "hovor"
    models = ("-m", "müd/el:1", "-m", "模型", "-m", "a\x1bb")
    ended = run(strange, *models, "-d", str(out), "--transcript-dir", str(talk), "--no-save")
    assert ended.code == 1
    assert sorted(path.name for path in out.rglob("*.json")) == ["a-b.json", "müd-el-1.json", "模型.json"]
    names = [path.name for path in talk.iterdir()]
    assert len(names) == 6
    assert all(re.fullmatch(r"[\w\-]+\.json", name) for name in names)


def test_a_directory_of_any_name(strange: Path, tmp_path: Path):
    home = shutil.copytree(strange, tmp_path / "dir with blank, 'quote', é and 🎯")
    ended = run(home, "--session-log", "-o", "o.json")
    assert ended.code == 1
    assert f"Results saved to {home}" in ended.err
    log = strict_json(next(home.glob("*.ndjson")).read_bytes().splitlines()[0])
    assert log["data"]["spec_path"] == str(home / "eval.yaml")


def test_tasks_are_chosen_by_names_of_every_script(strange: Path):
    ended = run(strange, "--no-save", "--task", "*🎯*", "--tags", "é?")
    assert ended.err.count("[1/1]") == 1
    assert run(strange, "--no-save", "--task", "ünï").out.count("PER-TASK") == 1


@pytest.mark.parametrize("escape", [r"\ud83d", r"\udc00 x", r"\ude00\ud83d"])
def test_half_characters_in_yaml_are_refused_with_their_place(tmp_path: Path, escape: str):
    write_tree(tmp_path, {"eval.yaml": f'name: s\ntasks: [t.yaml]\nskill: "{escape}"\n'})
    ended = run(tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert re.search(
        r"^eval\.yaml:3:\d+: not valid YAML: this escape does not stand for a character", ended.err
    )


def test_half_characters_from_elsewhere_do_no_harm(tmp_path: Path):
    """A file of the agent that is no UTF-8, and a results file that another program wrote."""
    grader = "{type: program, name: g, config: {command: sh, args: [-c, \"printf '\\\\377\\\\355\\\\240\\\\275'\"]}}"
    write_tree(tmp_path, {
        "eval.yaml": f"name: s\nconfig: {{executor: mock}}\ngraders: [{grader}]\ntasks: [t.yaml]\n",
        "t.yaml": "id: t\ninputs: {prompt: p}\n",
    })  # fmt: skip
    ended = run(tmp_path, "-o", "r.json")
    assert ended.code == 0
    data = (tmp_path / "r.json").read_bytes()
    assert "�" in strict_json(data)["tasks"][0]["runs"][0]["validations"]["g"]["feedback"]
    (tmp_path / "half.json").write_bytes(data.replace(b'"eval_name": "s"', rb'"eval_name": "\ud83d"'))
    graded = waza("grade", "eval.yaml", "--results", "half.json", cwd=tmp_path)
    assert graded.code == 2
    assert "half.json:" in graded.err
    assert "is not valid JSON" in graded.err


@pytest.mark.skipif(os.name == "nt", reason="Windows hands over whole characters")
@pytest.mark.parametrize("option", ["--model", "--judge-model"])
def test_words_that_are_not_utf8_are_refused_where_files_would_hold_them(strange: Path, option: str):
    ended = run(strange, "-m", "fine", option, os.fsdecode(b"x\xff"))
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == f"Error: {option} 'x\\udcff' is not UTF-8\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows hands over whole characters")
@pytest.mark.parametrize("option", ["-o", "-d", "--task", "--tags", "--session-dir", "--context-dir"])
def test_other_words_that_are_not_utf8(strange: Path, tmp_path: Path, option: str):
    word = os.fsdecode(b"x\xff")
    ended = run(
        strange,
        "--no-save",
        "--session-log",
        option,
        word if option.startswith("--") else f"{tmp_path}/{word}",
    )
    assert ended.code == (2 if option in ("--task", "--tags") else 1)
    assert "Traceback" not in ended.err


def test_paths_with_backslashes_mean_the_same(tmp_path: Path):
    """As people write them on Windows: in files of a task, of graders, of the mock."""
    write_tree(tmp_path, {
        "eval.yaml": "name: s\nconfig: {executor: mock}\ntasks: [sub/t.yaml]\n",
        "sub/t.yaml": "id: t\ninputs: {prompt: p, files: [{path: 'in\\a.txt'}]}\n"
        "graders: [{type: file, name: f, config: {must_exist: ['in\\a.txt', 'out/b.txt']}}]\n"
        "mock: {output: x, files: [{path: 'out\\b.txt', content: x}]}\n",
        "fixtures/in/a.txt": "x",
    })  # fmt: skip
    ended = run(tmp_path)
    assert ended.code == 0, ended.err + ended.out
