"""What the program must bear: streams that are closed, full or read by nobody; a machine without network."""

from __future__ import annotations

import json
import os
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.program import Ended, command, environment, mock_suite, strict_json, waza, write_tree

SAYS_HELLO = "graders: [{type: text, name: says, config: {contains: [hello]}}]"
PASSES = "inputs: {prompt: p}\nmock: {output: hello}"
FAILS = "inputs: {prompt: p}\nmock: {output: bye}"
on_linux = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="only Linux has a device that is always full"
)


def suite(root: Path, *texts: str) -> Path:
    return mock_suite(root, {f"t{number}": text for number, text in enumerate(texts, 1)}, SAYS_HELLO)


def shell(script: str, cwd: Path) -> Ended:
    """Run a shell script in which `"$@"` is the program."""
    done = subprocess.run(
        ["sh", "-c", script, "sh", *command()],
        cwd=cwd, env=environment(), capture_output=True, text=True, encoding="utf-8", check=False, timeout=60,
    )  # fmt: skip
    return Ended(done.returncode, done.stdout, done.stderr, cwd)


@pytest.fixture(scope="module")
def talkative(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite whose report is larger than a pipe holds, and which passes."""
    root = tmp_path_factory.mktemp("talkative")
    rows = "".join(f"row {n} {'x' * 40},p\n" for n in range(1000))
    head = "name: s\nconfig: {executor: mock, model: m}\nmock: {output: hello}\ntasks_from: rows.csv\n"
    write_tree(root, {"eval.yaml": head + SAYS_HELLO, "rows.csv": f"name,prompt\n{rows}"})
    return root


@pytest.mark.parametrize("more", ["", "--json", "--format github-comment", "--verbose"])
def test_a_reader_who_leaves_early_stops_nothing(talkative: Path, tmp_path: Path, more: str):
    report = tmp_path / "junit.xml"
    process = subprocess.Popen(
        [*command(*f"run eval.yaml --no-save {more} --reporter junit:{report}".split())],
        cwd=talkative, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    said = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(60) == 0
    assert "Traceback" not in said
    assert "Error" not in said
    assert ET.parse(report).getroot().attrib["tests"] == "1000"  # noqa: S314  # our own report


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which every command has something to print."""
    root = tmp_path_factory.mktemp("session")
    suite(root, PASSES, FAILS)
    index = {"entries": [{"ref": "github.com/acme/graders@v1", "summary": "tone"}]}
    registries = [{"name": "near", "url": "index.json"}, {"name": "far", "url": "http://127.0.0.1:9"}]
    document = {"schemaVersion": "1.7.0", "items": [{"prompt": "p"}]}
    write_tree(
        root,
        {
            "index.json": json.dumps(index),
            ".waza.yaml": json.dumps({"registries": registries}),
            "evals.json": json.dumps(document),
            "bad.json": json.dumps({**document, "items": [{}]}),
            "waza.lock": "schema_version: 1\ngraders: []\n",
        },
    )
    assert waza("run", "eval.yaml", "-o", "r.json", cwd=root).code == 1
    return root


@pytest.mark.parametrize(
    "words",
    [
        *("--help", "--version", "run --help", "schema suite", "registry search tone", "registry verify"),
        *("compare r.json r.json", "grade eval.yaml --results r.json --fail -v", "run eval.yaml --no-save"),
        *("m365 validate evals.json", "m365 validate bad.json", "doctor", "run none.yaml", "schema nothing"),
    ],
)
def test_a_reader_who_leaves_does_not_change_what_a_command_says_of_its_work(session: Path, words: str):
    """The pipe has no reader from the start, so that nothing depends on who is faster."""
    own = {
        "COPILOT_CLI_PATH": str(session / "none")
    }  # without it the SDK of the runtime would look for one afar
    expected = waza(*words.split(), cwd=session, env=own)
    reading, writing = os.pipe()
    os.close(reading)
    ended = [
        subprocess.run(
            command(*words.split()),
            cwd=session,
            env=environment(own),
            stdout=writing,
            stderr=stderr,
            check=False,
        )
        for stderr in (subprocess.PIPE, writing)
    ]
    os.close(writing)
    assert [one.returncode for one in ended] == [expected.code] * 2
    said = ended[0].stderr.decode()
    assert "roken pipe" not in said
    assert "Traceback" not in said
    assert said.count("\n") == expected.err.count("\n")


@on_linux
def test_a_full_disk_is_named_and_costs_no_file(talkative: Path, tmp_path: Path):
    ended = shell(f'"$@" run eval.yaml --no-save --reporter junit:{tmp_path}/j.xml > /dev/full', talkative)
    assert ended.code == 2
    assert ended.err.endswith("Error: cannot write the output: No space left on device\n")
    assert "Traceback" not in ended.err
    assert (tmp_path / "j.xml").exists()


@on_linux
@pytest.mark.parametrize(
    "words",
    ["run ok.yaml", "run ok.yaml --json", "--help", "run --help", "schema task", "compare r.json r.json"],
)
def test_a_full_disk_under_every_kind_of_output(tmp_path: Path, words: str):
    suite(tmp_path, PASSES).rename(tmp_path / "ok.yaml")
    if "compare" in words:
        waza("run", "ok.yaml", "-o", "r.json", cwd=tmp_path)
    ended = shell(f'"$@" {words} > /dev/full', tmp_path)
    assert ended.code == 2
    assert "No space left on device" in ended.err
    assert "Traceback" not in ended.err
    assert "Exception ignored" not in ended.err


@on_linux
@pytest.mark.parametrize("option", ["-o", "--reporter=junit:", "--reporter=markdown:", "--reporter=json:"])
def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, option: str):
    suite(tmp_path, PASSES)
    option = f"{option} /dev/full" if option == "-o" else f"{option}/dev/full"
    ended = waza("run", "eval.yaml", *option.split(), cwd=tmp_path)
    assert ended.code == 2
    assert "Error: cannot write /dev/full: No space left on device" in ended.err
    assert "Traceback" not in ended.err
    assert ended.results()["summary"]["succeeded"] == 1, "the run itself is kept"


@pytest.mark.parametrize("streams", ["2>&-", ">&- 2>&-", ">&-", "<&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed(tmp_path: Path, streams: str):
    suite(tmp_path, PASSES, FAILS)
    ended = shell(f'"$@" run eval.yaml -v -o out.json {streams}', tmp_path)
    assert ended.code == 1
    assert "Traceback" not in ended.out + ended.err
    assert strict_json((tmp_path / "out.json").read_bytes())["summary"]["total_tests"] == 2


@on_linux
def test_messages_that_cannot_be_written_change_nothing(tmp_path: Path):
    suite(tmp_path, PASSES)
    ended = shell('"$@" run eval.yaml -v -o out.json 2> /dev/full', tmp_path)
    assert ended.code == 0
    assert "BENCHMARK RESULTS" in ended.out
    assert shell('"$@" run nope.yaml 2> /dev/full', tmp_path).code == 2


# --- without a network ---

NO_NETWORK = """
import os, pathlib, socket
pathlib.Path(os.environ["SEEN"]).touch()
def refuse(*args, **kwargs):
    pathlib.Path(os.environ["SEEN"]).write_text("a connection was tried")
    raise OSError("the network is off")
socket.socket.connect = socket.socket.connect_ex = refuse
socket.getaddrinfo = socket.create_connection = refuse
"""


@pytest.fixture
def everything(tmp_path: Path) -> Callable[[str], list[str]]:
    """Return the commands of a whole session: run (twice the arms, a judge, a program), grade, compare."""
    graders = (
        "[{type: prompt, name: judged, config: {prompt: ok?}}, {type: code, name: c, config: {assertions: ['output']}},"
        " {type: program, name: p, config: {command: cat}}, {type: file, name: f, config: {must_exist: [a.txt]}}]"
    )
    said = "mock: {output: hello, files: [{path: a.txt, content: x}], judge: {judged: [{pass: fine}]}}"
    mock_suite(
        tmp_path, {"t": f"inputs: {{prompt: p}}\n{said}"}, f"graders: {graders}", ["skill_directories: [s]"]
    )
    write_tree(tmp_path, {"s/SKILL.md": "---\nname: s\ndescription: d\n---\nb\n", "a.txt": "x"})
    return lambda start: [
        f"{start} run eval.yaml -v --baseline --cache --session-log --transcript-dir t -o a.json --reporter junit:j.xml",
        f"{start} run eval.yaml --model other -o b.json",
        f"{start} grade eval.yaml --results a.json",
        f"{start} compare a.json b.json",
        f"{start} schema results",
        f"{start} --version",
    ]


def test_no_command_tries_the_network(tmp_path: Path, everything: Callable[[str], list[str]]):
    write_tree(tmp_path, {"site/sitecustomize.py": NO_NETWORK})
    seen = tmp_path / "seen.txt"
    codes = [
        shell(f'export PYTHONPATH="{tmp_path}/site:$PYTHONPATH" SEEN="{seen}"; {line}', tmp_path).code
        for line in everything('"$@"')
    ]
    assert codes == [1, 0, 0, 0, 0, 0]  # the baseline is not beaten
    assert seen.read_text() == "", "a connection was tried"
    probe = 'import socket; socket.create_connection(("127.0.0.1", 9))'
    shell(f"export PYTHONPATH='{tmp_path}/site' SEEN='{seen}'; $1 -c '{probe}'", tmp_path)
    assert seen.read_text() == "a connection was tried", "this test would see a connection"


@pytest.mark.skipif(
    subprocess.run(["sh", "-c", "unshare -rn true"], capture_output=True, check=False).returncode != 0,
    reason="this machine cannot make a network of its own (unshare -rn)",
)
def test_everything_works_in_a_room_without_network(tmp_path: Path, everything: Callable[[str], list[str]]):
    assert [shell(line, tmp_path).code for line in everything('unshare -rn "$@"')] == [1, 0, 0, 0, 0, 0]
