"""`waza completion`: the scripts, sourced in real shells, and what they complete."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.program import LIMIT, environment, waza, write_tree

from waza.cli.app import COMMANDS
from waza.cli.completion import SHELLS

# The same in every shell: the words before the last one, and that, as it is typed.
CASES = [
    ("che", {"check"}),
    ("run a", {"ada"}),
    ("run --exec", {"--executor"}),
    ("run --executor", {"--executor"}),
    ("cache ", {"clear", "info"}),
    ("spec verify c", {"cleo"}),
    ("schema resu", {"results"}),
    ("run evals/ad", {"evals/ada/"}),
    ("nothing of the kin", set[str]()),
]
BROKEN = "paths: [\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A workspace with three skills, a suite, and names that are not to be offered."""
    files = {
        f"skills/{name}/SKILL.md": f"---\nname: {name}\ndescription: d\n---\nb\n"
        for name in ("ada", "bob", "cleo")
    }
    odd = {
        f"skills/odd{number}/SKILL.md": f"---\nname: '{name}'\ndescription: d\n---\nb\n"
        for number, name in enumerate(("a b", "a$(touch x)", "a;b", "a,b"))
    }
    return write_tree(tmp_path / "place", {**files, **odd, "evals/ada/eval.yaml": "name: x\nskill: ada\n"})


def shell(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed; `make shells` installs it on Debian, as root")
    return found


def variables() -> dict[str, str]:
    """The environment of a shell that finds this waza."""
    own = Path(sys.executable).parent
    return {
        **environment(),
        "PATH": os.pathsep.join([str(own), os.environ["PATH"]]),
        "TERM": "xterm",
        "LC_ALL": "C.UTF-8",
    }


def run(program: str, *args: str, cwd: Path) -> str:
    done = subprocess.run(
        [program, *args], cwd=cwd, env=variables(), capture_output=True, text=True, timeout=LIMIT, check=True
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("name", SHELLS)
def test_a_script_is_printed_and_starts_no_shell(tmp_path: Path, name: str):
    ended = waza("completion", name, cwd=tmp_path, env={"PATH": str(tmp_path)})
    assert (ended.code, ended.err) == (0, "")
    assert f"_WAZA_COMPLETE={name}_complete" in ended.out or f"'{name}_complete'" in ended.out
    assert "\r" not in ended.out


def test_bash(place: Path):
    program = shell("bash")
    for typed, expected in CASES:
        words = typed.split(" ")
        if "/" in typed:
            continue  # left to bash itself
        quoted = " ".join(f"'{word}'" for word in words)
        script = f"""
            eval "$(waza completion bash)"
            complete -p waza
            COMP_WORDS=(waza {quoted}); COMP_CWORD={len(words)}; COMPREPLY=()
            compopt() {{ :; }}  # works only where a person types
            _waza_completion waza '{words[-1]}' ''
            printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        first, *found = run(program, "--norc", "-c", script, cwd=place).splitlines()
        assert first == "complete -o nosort -F _waza_completion waza"
        assert {line for line in found if line} == expected, typed


def test_fish(place: Path):
    program = shell("fish")
    for typed, expected in CASES:
        script = f"waza completion fish | source; complete -C 'waza {typed}'"
        found = run(program, "--no-config", "-c", script, cwd=place)
        assert {line.partition("\t")[0] for line in found.splitlines()} == expected, typed


@contextmanager
def zsh(place: Path) -> Iterator[int]:
    """Start zsh on a terminal of its own, with the completion of waza; yield that terminal."""
    program = shell("zsh")
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(place)
        os.execve(program, [program, "-f", "-i"], variables())  # noqa: S606  # the child becomes the shell
    try:
        start = "unsetopt zle_bracketed_paste prompt_sp; stty -echo; PS1='%%' ; autoload -U compinit; compinit -u -D"
        os.write(terminal, f"{start}; eval \"$(waza completion zsh)\"; print READ''Y\n".encode())
        read_until(terminal, "READY")
        yield terminal
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)


def read_until(terminal: int, text: str) -> str:
    """Return what a terminal shows up to a text."""
    shown, end = "", time.monotonic() + LIMIT
    while text not in shown:
        assert time.monotonic() < end, f"waited in vain for {text!r} in {shown!r}"
        ready, _, _ = select.select([terminal], [], [], 1)
        if ready:
            shown += os.read(terminal, 65536).decode("utf-8", "replace")
            shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|.\x08", "", shown)
    return shown


@pytest.mark.skipif(sys.platform == "win32", reason="there is no terminal of this kind")
def test_zsh(place: Path):
    with zsh(place) as terminal:
        for typed, completed in (
            ("che", "check"),
            ("run a", "run ada"),
            ("run evals/ad", "run evals/ada/"),
            ("schema resu", "schema results"),
        ):
            os.write(terminal, f"waza {typed}\t".encode())
            read_until(terminal, f"waza {completed}")
            os.write(terminal, b"\x15")  # the line is emptied
        os.write(terminal, b"exit\n")


def test_what_is_wrong_around_gives_no_names_and_no_noise(place: Path):
    write_tree(place, {".waza.yaml": BROKEN})
    asked = {"_WAZA_COMPLETE": "bash_complete", "COMP_WORDS": "waza run a", "COMP_CWORD": "2"}
    ended = waza(cwd=place, env=asked)
    assert (ended.code, ended.out, ended.err) == (0, "file,a\n", "")
    assert not (place / "x").exists()


def test_commands_are_listed_without_being_imported(tmp_path: Path):
    report = "import sys; sys.argv = ['waza']; from waza.__main__ import main\ntry:\n    main()\nfinally:\n    print(*(name for name in sys.modules if name.startswith('waza.cli.')), file=sys.stderr)"
    asked = {"_WAZA_COMPLETE": "bash_complete", "COMP_WORDS": "waza ", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", report],
        cwd=tmp_path,
        env=environment(asked),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.stdout.splitlines() == [f"plain,{name}" for name in COMMANDS]
    assert set(done.stderr.split()) == {"waza.cli.app", "waza.cli.option_spelling", "waza.cli.std_streams"}


def test_powershell_is_answered_in_its_form(place: Path):
    asked = {"_WAZA_COMPLETE": "powershell_complete", "COMP_WORDS": "waza run a", "COMP_CWORD": "2"}
    ended = waza(cwd=place, env=asked)
    assert (ended.code, ended.out.split("\n")) == (0, ["file", "a", "_", "plain", "ada", "_", ""])
    program = shutil.which("pwsh")
    if program:
        script = "waza completion powershell | Out-String | Invoke-Expression; (TabExpansion2 'waza run a' 10).CompletionMatches.CompletionText"
        assert "ada" in run(program, "-NoProfile", "-Command", script, cwd=place).split()
