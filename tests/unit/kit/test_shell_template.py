"""Variables in shell commands: no value is ever parsed, whatever stands around it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waza.kit.shell_template import check_values, find_unsafe_references, render_command

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
        [shell, "-c", render_command(command, NAMES)],
        env=env,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, (render_command(command, NAMES), done.stderr)
    return done.stdout


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("command", PLACES)
def test_a_value_is_one_word_at_every_place_and_never_runs(shell: str, command: str, tmp_path):
    assert find_unsafe_references(command) == []
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
    assert find_unsafe_references(command) == []
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
        ("echo \\{{.Vars.a}}", "follows `\\`"),
        ("echo ${{.Vars.a}}", "follows `$`"),
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
    (found,) = find_unsafe_references(command)
    assert found.severity == "error"
    assert why in found.why
    assert command[found.offset :].startswith("{{.Vars.a}}")


@pytest.mark.parametrize(
    ("command", "why"),
    [("python3 -c 'print(\"{{.Vars.a}}\")'", "source"), ("{{.Vars.a}} --all", "names the program")],
)
def test_what_is_doubtful_is_a_warning(command: str, why: str):
    (found,) = find_unsafe_references(command)
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
    assert find_unsafe_references(command) == []


ANY_VALUE = [
    "echo 'Running: {{.Vars.a}}' && npm ci",
    'mkdir -p "{{.Vars.a}}/x" && cp "{{.Vars.a}}/a" b',
    "if true; then echo {{.Vars.a}}; npm ci; fi",
    'if [ "{{.Vars.a}}" = "a b" ]; then npm ci; fi',
    "test {{.Vars.a}} != b && npm ci",
    'case "{{.Vars.a}}" in a*) npm ci;; b|c) echo x;; esac',
    'x={{.Vars.a}}; echo "$x"',
    "echo {{.Vars.a}} >> log.txt",
    "echo {{.Vars.a}} >/dev/null 2>&1 && npm ci",
    "./seed.py --city '{{.Vars.a}}'",
    "python3 seed.py {{.Vars.a}} -c x",
    "sh ./prepare.sh {{.Vars.a}}",
    "echo {{.Vars.a}} | grep -q x || npm ci",
    "echo {{.Vars.a}} | ./load.sh",
    "(cd x && echo {{.Vars.a}} | sort.sh/run)",
    'echo "`echo {{.Vars.a}}`" | cat',
    "npm ci # for {{.Vars.a}}",
    "cat <<'A' | sh\nit's $(none\nA\necho {{.Vars.a}}",
    "cat <<A\n{{.Vars.a}}\nA\nnpm ci",
    "for f in a b; do touch {{.Vars.a}}/$f; done",
]
HARMLESS_VALUES = [
    ("awk '{{.Vars.a}}' f", "awk"),
    ('sed "s/a/{{.Vars.a}}/e" f', "sed"),
    ('git -c "alias.x=!{{.Vars.a}}" x', "git"),
    ("X={{.Vars.a}} sh -c 'eval $X'", "sh"),
    ("env X={{.Vars.a}} ./x", "env"),
    ("sudo mkdir {{.Vars.a}}", "sudo"),
    ("find . -name {{.Vars.a}}", "find"),
    ("npm run x -- {{.Vars.a}}", "npm"),
    ('x={{.Vars.a}}; eval "$x"', "eval"),
    ('export x={{.Vars.a}}; sh -c "$x"', "sh"),
    ("x={{.Vars.a}}; $x", "$x"),
    ("x=$(echo {{.Vars.a}}); $x", "$x"),
    ("for i in {{.Vars.a}}; do true; done; $i", "$i"),
    ('echo "X={{.Vars.a}}" > env.sh; . ./env.sh', "."),
    ("{ echo {{.Vars.a}}; } > env.sh; . ./env.sh", "."),
    ("if echo {{.Vars.a}} > s; then sh ./s; fi", "sh"),
    ("while read l; do echo $l; done <<EOF\n{{.Vars.a}}\nEOF\n", "read"),
    ('echo {{.Vars.a}} | while read l; do sh -c "$l"; done', "read"),
    ("echo {{.Vars.a}} > >(sh)", "sh"),
    ("$(echo {{.Vars.a}})", "..."),
    ("python3 -m mod {{.Vars.a}}", "python3"),
    ("python3 -c {{.Vars.a}}", "python3"),
    ('f() { sh -c "$1"; }; f {{.Vars.a}}', "f..."),
    ("[ {{.Vars.a}} -eq 1 ]", "["),
    ("[ -v {{.Vars.a}} ]", "["),
    ("printf {{.Vars.a}} b", "printf"),
    ("echo {{.Vars.a}} | tee -a log", "tee"),
    ("cp /dev/stdin s <<E\n{{.Vars.a}}\nE\nsh s", "cp"),
    ("exec > >(sh); echo {{.Vars.a}}", "exec"),
]


@pytest.mark.parametrize("command", ANY_VALUE)
def test_any_value_may_be_where_all_programs_take_it_for_data(command: str):
    assert find_unsafe_references(command) == []
    for value in HOSTILE:
        assert check_values(command, {"Vars.a": value}, NAMES) == ""


@pytest.mark.parametrize(("command", "program"), HARMLESS_VALUES)
def test_only_plain_values_may_be_where_a_program_may_take_them_for_code(command: str, program: str):
    assert not [wrong for wrong in find_unsafe_references(command) if wrong.severity == "error"]
    assert check_values(command, {"Vars.a": "Graz-2/ü.txt:80"}, NAMES) == ""
    for value in ("a b", "$(touch pwned)", "a;b", "-rf", "a\n", "*", "~", "\u00a0"):
        told = check_values(command, {"Vars.a": value}, NAMES)
        assert f"`{program}` may take the value of `{{{{.Vars.a}}}}` for code" in told or program == "f..."
        assert 'write "$WAZA_VAR_a"' in told


@pytest.mark.parametrize(
    "command",
    [
        "{ echo {{.Vars.a}}; } | sh",
        "for i in 1 2; do echo {{.Vars.a}}; done | sh",
        "while true; do echo {{.Vars.a}}; break; done | sudo bash -s",
        "(cd x; echo {{.Vars.a}}) |& sh",
        "case x in x) echo {{.Vars.a}} | sh;; esac",
        "echo {{.Vars.a}} 2>&1 | sh 2>&1",
        "env X=1 sh -c {{.Vars.a}}",
        'sh -c "$(echo {{.Vars.a}})"',
        "eval `echo {{.Vars.a}}`",
        "sh <<< {{.Vars.a}}",
        ". {{.Vars.a}}",
        "[[ {{.Vars.a}} -eq 1 ]]",
        "(( {{.Vars.a}} > 1 ))",
        "echo {{.Vars.a}} | sh # it's run",
        "echo {{.Vars.a}} | sh -s -- x",
    ],
)
def test_what_flows_into_a_shell_is_an_error_however_it_gets_there(command: str):
    assert [wrong.severity for wrong in find_unsafe_references(command)] == ["error"]


SIMPLE = ["echo {{.Vars.a}}", "printf '%s\n' \"{{.Vars.a}}\"", "x='{{.Vars.a}}'", "cat <<E\n{{.Vars.a}}\nE\n", "true", "$x", 'eval "$x"',
          'sh -c "$x"', "touch ./'{{.Vars.a}}'", "echo {{.Vars.a}} > s", "sh ./s", ". ./s", "awk '{{.Vars.a}}'", "echo x # '"]  # fmt: skip
AROUND = ["{{ {0}\n}}", "({0}\n)", "for i in 1; do {0}\ndone", "if {0}\nthen {1}\nfi", "case x in x) {0}\nesac", "{0} | {1}", "{0}\n{1}",
          "{0} | sh", "{0} && {1}", 'echo "$({0}\n)"', "$({0}\n)", "x=$({0}\n)", "x=`{0}\n`; {1}", "{0} >s; {1}",
          "{0} | while read x; do {1}\ndone", "for x in $({0}\n); do {1}\ndone", "f() {{ {0}\n}}; f | {1}"]  # fmt: skip
COMMANDS = st.recursive(
    st.sampled_from(SIMPLE),
    lambda inner: st.builds(lambda around, *two: around.format(*two), st.sampled_from(AROUND), inner, inner),
    max_leaves=6,
)


@settings(max_examples=250, deadline=None)
@given(
    COMMANDS,
    st.sampled_from(
        [
            "touch pwned",
            "$(touch pwned)",
            ";touch pwned;",
            "'; touch pwned; '",
            'BEGIN{system("touch pwned")}',
        ]
    ),
)
def test_no_value_that_is_accepted_ever_runs(command: str, value: str):
    if check_values(command, {"Vars.a": value}, NAMES) or any(
        one.severity == "error" for one in find_unsafe_references(command)
    ):
        return
    with tempfile.TemporaryDirectory() as home:
        for shell in SHELLS:
            subprocess.run(
                [shell, "-c", render_command(command, NAMES)], env={**os.environ, "WAZA_VAR_a": value}, cwd=home,
                stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
            )  # fmt: skip
        assert not (Path(home) / "pwned").exists(), render_command(command, NAMES)


def test_text_without_references_stays():
    assert render_command("echo '${{ x }}' {{.Other}} `", NAMES) == "echo '${{ x }}' {{.Other}} `"


@settings(max_examples=300, deadline=None)
@given(st.text("a{}'\"`$()\\#<-EO \n;|&", max_size=30), st.text("a'\"`$()\\#<EO \n;|&", max_size=30))
def test_walking_over_any_text_ends_and_loses_nothing(before: str, after: str):
    found = render_command(f"{before}{{{{.Vars.a}}}}{after}", NAMES)
    assert found.startswith(before)
    assert found.endswith(after)
    assert "${WAZA_VAR_a}" in found
