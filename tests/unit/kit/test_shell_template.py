"""Variables in shell commands: no value is ever parsed, whatever stands around it."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waza.kit.shell_template import misplaced, placed

NAMES = {"Vars.a": "WAZA_VAR_a", "TaskName": "WAZA_TASK_NAME"}
SHELLS = [shell for shell in ("sh", "bash", "dash") if shutil.which(shell)]
HOSTILE = [
    "plain", "two  words ", "$(touch pwned)", "`touch pwned`", "'; touch pwned; '", '"; touch pwned; "', "a\ntouch pwned\n",
    "*", "$HOME", "\\", "\\'", "EOF\ntouch pwned", "-n", "x'\"`$(touch pwned)", "#", "!", "&touch pwned", "> pwned", "{a,b}",
]  # fmt: skip

# Commands that print the value between brackets, whatever place it has.
PLACES = [
    "printf '[%s]' {{.Vars.a}}",
    'printf "[%s]" "{{.Vars.a}}"',
    'printf "%s" "[{{.Vars.a}}]"',
    "printf '%s' '[{{.Vars.a}}]'",
    "printf '%s' [{{.Vars.a}}]",
    'printf %s "["\'{{.Vars.a}}\'"]"',
    "x={{.Vars.a}}; printf '[%s]' \"$x\"",
    "printf '[%s]' \"$(printf '%s' {{.Vars.a}})\"",
    'printf "[%s]" "$(printf "%s" "{{.Vars.a}}")"',
    "printf '[%s]' \"`printf '%s' '{{.Vars.a}}'`\"",
    "(printf '[%s]' {{.Vars.a}}) # don't {{.Vars.a}}\n",
    "# it's {{.Vars.a}}\nprintf '[%s]' {{.Vars.a}}",
    "if true; then printf '[%s]' {{.Vars.a}}; fi",
    "case x in x) printf '[%s]' {{.Vars.a}};; esac",
    "echo \\' >/dev/null; printf '[%s]' {{.Vars.a}}",
    "f() { printf '[%s]' \"$1\"; }; f {{.Vars.a}}",
    "printf '[%s]' {{ .Vars.a }} && true",
    "printf %s \"it's\" >/dev/null; printf '[%s]' {{.Vars.a}}",
    "printf %s \"${HOME:-x}\" >/dev/null; printf '[%s]' {{.Vars.a}}",
    "printf %s $((1 + (2))) >/dev/null; printf '[%s]' {{.Vars.a}}",
]


def run(shell: str, command: str, value: str, cwd: str) -> str:
    env = {**os.environ, "WAZA_VAR_a": value, "WAZA_TASK_NAME": "name"}
    done = subprocess.run(
        [shell, "-c", placed(command, NAMES)],
        env=env,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, (placed(command, NAMES), done.stderr)
    return done.stdout


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("command", PLACES)
def test_a_value_is_one_word_at_every_place_and_never_runs(shell: str, command: str, tmp_path):
    assert misplaced(command) == []
    for value in HOSTILE:
        expected = value.rstrip("\n") if "$(p" in command or "`p" in command else value  # as substitutions do
        assert run(shell, command, value, str(tmp_path)) == f"[{expected}]"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "command",
    [
        "cat <<EOF\n[{{.Vars.a}}]\nEOF\n",
        "cat <<-EOF\n\t[{{.Vars.a}}]\n\tEOF\n",
        "cat <<A; cat <<'B' >/dev/null\n[{{.Vars.a}}]\nA\nit's $(none of it)\nB\n",
        'cat <<EOF\n[$(printf %s "{{.Vars.a}}")]\nEOF',
        "cat <<EOF; printf '[%s]\\n' {{.Vars.a}} >&2\n[{{.Vars.a}}]\nEOF",
    ],
)
def test_here_documents(shell: str, command: str, tmp_path):
    assert misplaced(command) == []
    for value in HOSTILE:
        expected = value.rstrip("\n") if "$(" in command.split("B'", maxsplit=1)[0] else value
        assert run(shell, command, value, str(tmp_path)) == f"[{expected}]\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("cat <<'EOF'\n{{.Vars.a}}\nEOF", "quoted delimiter"),
        ("cat <<\\EOF\n{{.Vars.a}}\nEOF", "quoted delimiter"),
        ("echo $(({{.Vars.a}} + 1))", "put the value into a variable"),
        ("echo $((1 + (2 * {{.Vars.a}})))", "put the value into a variable"),
        ("echo ${X:-{{.Vars.a}}}", "put the value into a variable"),
        ("echo \\{{.Vars.a}}", "stands behind `\\`"),
        ("echo ${{.Vars.a}}", "stands behind `$`"),
        ("sh -c 'echo {{.Vars.a}}'", "another shell parses"),
        ("cd x && bash -ec \"echo '{{.Vars.a}}'\"", "another shell parses"),
        ("timeout 5 /bin/sh -c {{.Vars.a}}", "another shell parses"),
        ("eval echo {{.Vars.a}}", "another shell parses"),
        ("ssh host ls {{.Vars.a}}", "another shell parses"),
        ("trap 'echo {{.Vars.a}}' EXIT", "another shell parses"),
        ("echo {{.Vars.a}} | sh", "another shell parses"),
        ("sh <<EOF\necho {{.Vars.a}}\nEOF", "another shell parses"),
        ('bash -eo pipefail -c "echo {{.Vars.a}}"', "another shell parses"),
        ("sh -c 'set -e\necho {{.Vars.a}}\n'", "another shell parses"),
        ("sh \\\n -c 'echo {{.Vars.a}}'", "another shell parses"),
        ("'sh' -c 'echo {{.Vars.a}}'", "another shell parses"),
        ("cat <<EOF | sh\necho {{.Vars.a}}\nEOF", "another shell parses"),
        ("echo echo {{.Vars.a}} | bash -e", "another shell parses"),
        ("echo 'echo {{.Vars.a}}; ls' | /bin/sh", "another shell parses"),
        ("echo {{.Vars.a}} |\n sh", "another shell parses"),
        ("echo {{.Vars.a}} \\\n | sh", "another shell parses"),
        ('"$SHELL" -c "echo {{.Vars.a}}"', "another shell parses"),
        ("echo {{.Vars.a}} | $SHELL", "another shell parses"),
        ("fish -c 'echo {{.Vars.a}}'", "another shell parses"),
        ("script -qc 'echo {{.Vars.a}}'", "another shell parses"),
        ("echo x | xargs -I% echo {{.Vars.a}}", "another shell parses"),
    ],
)
def test_what_cannot_be_placed_safely_is_an_error(command: str, why: str):
    (found,) = misplaced(command)
    assert found.severity == "error"
    assert why in found.why
    assert command[found.offset :].startswith("{{.Vars.a}}")


@pytest.mark.parametrize(
    ("command", "why"),
    [("python3 -c 'print(\"{{.Vars.a}}\")'", "source"), ("{{.Vars.a}} --all", "names the program")],
)
def test_what_is_doubtful_is_a_warning(command: str, why: str):
    (found,) = misplaced(command)
    assert (found.severity, why in found.why) == ("warning", True)


@pytest.mark.parametrize(
    "command",
    [
        "echo {{.Vars.a}} | shasum",
        "push -c {{.Vars.a}}",
        "wash -c '{{.Vars.a}}'",
        "echo x | sh; echo {{.Vars.a}}",
        "echo 'Running task: {{.TaskName}}'",
        "sh ./prepare.sh {{.Vars.a}}",
        "cat <<EOF | sort\n{{.Vars.a}} | sh\nEOF",
        "a\\\\{{.Vars.a}}",
    ],
)
def test_near_misses_are_fine(command: str):
    assert misplaced(command) == []


def test_text_without_references_stays():
    assert placed("echo '${{ x }}' {{.Other}} `", NAMES) == "echo '${{ x }}' {{.Other}} `"


@settings(max_examples=300, deadline=None)
@given(st.text("a{}'\"`$()\\#<-EO \n;|&", max_size=30), st.text("a'\"`$()\\#<EO \n;|&", max_size=30))
def test_walking_over_any_text_ends_and_loses_nothing(before: str, after: str):
    found = placed(f"{before}{{{{.Vars.a}}}}{after}", NAMES)
    assert found.startswith(before)
    assert found.endswith(after)
    assert "${WAZA_VAR_a}" in found
