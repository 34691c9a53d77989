from __future__ import annotations

import base64
import json
import re
import string
from collections.abc import Callable
from html import escape
from pathlib import Path
from urllib.parse import quote, quote_plus

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from waza.kit.credentials import FULL_SHAPES
from waza.kit.redact import PLACEHOLDER, RedactionPolicy, Redactor, redact_args

SECRET = 's3cr3t&value"with ünicode'
GITHUB = "ghp_" + "aB3d" * 9
SHAPES = Redactor.for_environment({})


def seen(secret: str, text: str) -> str:
    return Redactor.for_environment({"MY_TOKEN": secret}).text(text)


@pytest.mark.parametrize(
    "name",
    [
        "FAKE_TOKEN", "github_token", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "PGPASSWORD", "DB_PWD",
        "GITHUB_PAT", "TOKEN_FOR_CI", "CREDENTIALS", "PROXY_AUTH", "API_KEY_2", "AZURE_STORAGE_CONNECTION_STRING",
    ],
)  # fmt: skip
def test_values_of_secret_looking_variables_are_replaced(name: str) -> None:
    redactor = Redactor.for_environment({name: "hunter2-hunter2"})

    assert redactor.text("the value hunter2-hunter2.") == f"the value {PLACEHOLDER}."


@pytest.mark.parametrize(
    "name", ["HOME", "KEYBOARD", "GIT_AUTHOR_NAME", "MONKEY", "PATH", "SSH_AUTH_SOCK", "PWD"]
)
def test_values_of_other_variables_stay(name: str) -> None:
    assert Redactor.for_environment({name: "hunter2-hunter2"}).text("hunter2-hunter2") == "hunter2-hunter2"


def test_harmless_values_stay(tmp_path: Path) -> None:
    redactor = Redactor.for_environment(
        {
            "A_TOKEN": "short",
            "B_TOKEN": "1234567890",
            "C_TOKEN": "true",
            "D_KEY": str(tmp_path),
            "E_TOKEN": "12345678.5",
        }
    )
    text = f"short 1234567890 true {tmp_path} 12345678.5"

    assert redactor.text(text) is text


def test_a_value_is_found_without_the_blanks_around_it() -> None:
    assert seen("hunter2-hunter2\n", "a hunter2-hunter2 b") == f"a {PLACEHOLDER} b"


@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_value_inside_json_text_is_found(ascii_only: bool) -> None:
    text = json.dumps({"out": f"line\n{SECRET}\tend"}, ensure_ascii=ascii_only)

    assert json.loads(seen(SECRET, text)) == {"out": f"line\n{PLACEHOLDER}\tend"}


def test_a_value_inside_json_that_is_safe_for_html_is_found() -> None:
    text = json.dumps(SECRET).replace("&", r"\u0026")

    assert seen(SECRET, text) == f'"{PLACEHOLDER}"'


def test_a_value_in_html_is_found() -> None:
    assert seen("<a&b>'c'", escape("<a&b>'c'")) == PLACEHOLDER


@pytest.mark.parametrize("before", [b"", b"u", b"us", b"user:"])
@pytest.mark.parametrize("after", [b"", b"\n", b" more text behind"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_value_in_base64_is_found_wherever_it_is(before: bytes, after: bytes, encode) -> None:
    secret = "k?>~ÿÿ-secret-12"
    text = encode(before + secret.encode() + after).decode()

    clean = seen(secret, f"x {text} y")

    assert PLACEHOLDER in clean
    kept = re.sub(re.escape(PLACEHOLDER), "", clean)
    assert len(kept) <= len(text) - len(secret) + 6


def test_base64_without_padding_is_found() -> None:
    text = base64.b64encode(b"hunter2-hunter").decode().rstrip("=")

    assert seen("hunter2-hunter", text) == PLACEHOLDER


@pytest.mark.parametrize("safe", ["", "/", "!'()*"])
@pytest.mark.parametrize("encode", [quote, quote_plus])
def test_a_value_in_an_url_is_found(safe: str, encode: Callable[..., str]) -> None:
    once = encode(SECRET, safe=safe)

    for text in (once, once.lower(), quote(once)):
        assert (
            seen(SECRET.lower() if text == once.lower() else SECRET, f"x?a={text}&b=1")
            == f"x?a={PLACEHOLDER}&b=1"
        )


@given(
    st.text(min_size=8).filter(lambda text: text == text.strip() and not text.isdecimal()),
    st.integers(0, 3),
    st.booleans(),
)
def test_a_value_is_found_however_often_it_was_escaped(secret: str, times: int, ascii_only: bool) -> None:
    text = secret
    for _ in range(times):
        text = json.dumps(text, ensure_ascii=ascii_only)[1:-1]

    assert Redactor([secret]).text(f"<{text}>") == f"<{PLACEHOLDER}>"
    assert Redactor([secret]).may_find(
        json.dumps({"a": f"<{text}>"}, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    )


@given(
    st.text(string.ascii_letters + string.digits + string.punctuation + " é\n", min_size=8, max_size=120),
    st.binary(max_size=100),
)
def test_a_value_in_wrapped_base64_is_found(secret: str, before: bytes) -> None:
    wrapped = base64.encodebytes(before + secret.encode()).decode()

    for text in (wrapped, wrapped.replace("\n", "\r\n"), json.dumps(wrapped)[1:-1]):
        clean = Redactor([secret]).text(text)
        assert PLACEHOLDER in clean
        assert secret.encode()[2:-2] not in base64.b64decode(clean.partition(PLACEHOLDER)[0] + "==")
    assert Redactor([secret]).may_find(json.dumps(wrapped).encode())


def test_wrapped_base64_without_a_secret_stays() -> None:
    text = base64.encodebytes(bytes(range(256))).decode()

    assert seen("hunter2-hunter2", text) is text


LINES = [
    ascii_line * 2
    for ascii_line in (
        string.ascii_lowercase + "12",
        string.ascii_uppercase + "34",
        "+/" + string.ascii_letters[20:46],
    )
]
KEY = "\n".join(["-----BEGIN PRIVATE KEY-----", *LINES, "dGFpbA==", "-----END PRIVATE KEY-----", ""])


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize(
    "key",
    [
        KEY,
        KEY.replace("\n", "\\n"),
        KEY.replace("\n", "\r\n"),
        json.dumps({"type": "account", "private_key": KEY}),
    ],
)
def test_a_single_line_of_a_known_key_is_found(line: str, key: str) -> None:
    assert Redactor.for_environment({"DEPLOY_KEY": key}).text(f"line 2: {line}.") == f"line 2: {PLACEHOLDER}."


def test_what_is_in_json_under_secret_names_is_found_alone() -> None:
    account = {
        "type": "service_account",
        "project_id": "my-project",
        "client": [{"client_secret": "horse-battery"}],
        "private_key_id": "abcdef012345",
    }
    redactor = Redactor.for_environment({"GOOGLE_CREDENTIALS": json.dumps(account)})

    text = "horse-battery abcdef012345 service_account my-project"
    assert redactor.text(text) == f"{PLACEHOLDER} {PLACEHOLDER} service_account my-project"


def test_secrets_may_be_many_and_long() -> None:
    secrets = [chr(65 + n) + '["\n é' * 682 for n in range(20)]
    redactor = Redactor([*secrets, "a/b c&d=e"])

    for text in (secrets[19], json.dumps(secrets[3])[1:-1], quote(secrets[7], safe=""), "a%2Fb+c%26d%3De"):
        assert redactor.text(f"<{text}>") == f"<{PLACEHOLDER}>"


@pytest.mark.parametrize("broken", ["{not json at all", "[" * 100_000, '{"a": 1'])
def test_what_only_looks_like_json_is_a_value_like_others(broken: str) -> None:
    assert seen(broken, f"a {broken} b") == f"a {PLACEHOLDER} b"


@pytest.mark.parametrize("tail", ["", "-and-more"])
def test_of_values_that_begin_alike_the_longer_counts(tail: str) -> None:
    redactor = Redactor.for_environment({"A_TOKEN": "abcdefgh", "B_TOKEN": "abcdefgh-and-more"})

    assert redactor.text("abcdefgh" + tail) == PLACEHOLDER


def test_long_values_are_found() -> None:
    secret = string.ascii_letters * 400

    assert seen(secret, f"a {secret} b") == f"a {PLACEHOLDER} b"


CREDENTIALS = {
    "github": GITHUB,
    "github fine grained": "github_pat_11ABCDEFG0123456789_abcdefghij",
    "openai": "sk-abcdefghij0123456789",
    "openai project": "sk-proj-abcdefghij0123456789",
    "openai after an escaped line end": r"\nsk-abcdefghij0123456789",
    "aws": "AKIAABCDEFGHIJKLMNOP",
    "aws temporary": "ASIAABCDEFGHIJKLMNOP",
    "aws secret": 'aws_secret_access_key = "' + "aB3/" * 10,
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "bearer": "Bearer abcdefghijklmnop0123",
    "basic": "Authorization: Basic dXNlcjpwYXNz",
    "pem": "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEow==\n-----END RSA PRIVATE KEY-----",
    "pem cut off": "-----BEGIN PRIVATE KEY-----\n" + "MIIEow" * 10,
    "azure storage": "AccountKey=" + "aB3/" * 12,
    "google": "AIza" + "a" * 35,
    "slack": "xoxb-1234567890-abcdef",
}


@pytest.mark.parametrize("credential", CREDENTIALS.values(), ids=CREDENTIALS.keys())
def test_shapes_of_credentials_are_replaced_at_both_levels(credential: str) -> None:
    assert SHAPES.text(f"a ({credential}) b") == f"a ({PLACEHOLDER}) b"
    assert SHAPES.full_text(f"a ({credential}) b") == f"a ({PLACEHOLDER}) b"


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("https://u:p@h/", f"https://{PLACEHOLDER}@h/"),
        ("postgres://me:pa@ss@db:5432/x?y", f"postgres://{PLACEHOLDER}@db:5432/x?y"),
        ("https://:token@h/", f"https://{PLACEHOLDER}@h/"),
        ("https://host:8080/@handle", "https://host:8080/@handle"),
        ("https://host:8080", "https://host:8080"),
        ('"http://host:80","me@x"', '"http://host:80","me@x"'),
    ],
)
def test_credentials_in_urls(url: str, clean: str) -> None:
    assert SHAPES.text(f"see {url} ok") == f"see {clean} ok"


@pytest.mark.parametrize(
    "text",
    [
        "task-management-and-something-long-name",
        "basic understandingofthings",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "ada@example.com",
        "-----BEGIN PRIVATE KEY----- is the first line of a key file, and prose may say so",
        "",
    ],
)
def test_results_keep_what_is_not_unmistakable(text: str) -> None:
    assert SHAPES.text(text) is text


@pytest.mark.parametrize(
    "text", ["da39a3ee5e6b4b0d3255bfef95601890afd80709", "ada@example.com", "basic dXNlcjpwYXNzd29yZA=="]
)
def test_the_full_level_takes_these_too(text: str) -> None:
    assert SHAPES.full_text(f"a {text} b") == f"a {PLACEHOLDER} b"


def test_text_with_half_a_surrogate_pair_survives() -> None:
    assert SHAPES.text(f"\ud800 {GITHUB}") == f"\ud800 {PLACEHOLDER}"


def test_redacting_twice_changes_nothing_more() -> None:
    redactor = Redactor.for_environment({"X_TOKEN": "hunter2-hunter2"})
    text = " ".join([*CREDENTIALS.values(), "hunter2-hunter2", "https://u:p@h/", "ada@example.com"])

    once = redactor.full_text(text)

    assert redactor.full_text(once) is once


def test_values_keep_their_shape() -> None:
    value = {"a": [1, None, True, {"b": f"x {GITHUB}"}], GITHUB: "key", "t": (GITHUB, 2)}

    assert SHAPES.value(value) == {
        "a": [1, None, True, {"b": f"x {PLACEHOLDER}"}],
        PLACEHOLDER: "key",
        "t": (PLACEHOLDER, 2),
    }
    assert value["a"] == [1, None, True, {"b": f"x {GITHUB}"}]


def test_a_value_without_secrets_is_returned_itself() -> None:
    value = {"a": [1, {"b": "plain text"}], "token": "not looked at here", "c": []}

    assert SHAPES.value(value) is value


def test_untouched_parts_are_not_copied() -> None:
    part = {"plain": ["text"]}

    assert SHAPES.value({"a": part, "b": GITHUB})["a"] is part


def test_the_full_level_hides_what_is_under_secret_keys() -> None:
    value = {"user": "ada", "apiKey": {"nested": 1}, "list": [{"db_password": 7}]}

    assert SHAPES.full_value(value) == {
        "user": "ada",
        "apiKey": PLACEHOLDER,
        "list": [{"db_password": PLACEHOLDER}],
    }


def test_counts_of_tokens_are_no_secrets() -> None:
    value = {"input_tokens": 12, "tokens": 3.5, "auth_tokens": "hush", "token": 7}

    assert SHAPES.full_value(value) == {**value, "auth_tokens": PLACEHOLDER, "token": PLACEHOLDER}


def test_what_is_nested_too_deep_is_hidden_as_a_whole() -> None:
    value: object = [GITHUB]
    for _ in range(100_000):
        value = [value]

    clean = SHAPES.value(value)

    for _ in range(200):
        (clean,) = clean
    assert clean == PLACEHOLDER


def test_extra_rules_join_the_full_level() -> None:
    redactor = Redactor([], policy=RedactionPolicy(rules={**FULL_SHAPES, "ticket": r"TCK-[0-9]+"}))

    assert redactor.full_text("see TCK-123, ada@example.com") == f"see {PLACEHOLDER}, {PLACEHOLDER}"
    assert redactor.text("see TCK-123") == "see TCK-123"


def test_an_extra_rule_that_cannot_be_compiled_is_refused() -> None:
    with pytest.raises(ValueError, match="look-ahead"):
        Redactor([], policy=RedactionPolicy(rules={"bad": "(?=x)"}))


@pytest.mark.parametrize(
    ("args", "clean"),
    [
        (["--token", "abc", "x"], [PLACEHOLDER, PLACEHOLDER, "x"]),
        (["--api_Key=abc", "x"], [f"--api_Key={PLACEHOLDER}", "x"]),
        (["-password", "abc"], [PLACEHOLDER, PLACEHOLDER]),
        (["--my-connection-string", "abc"], [PLACEHOLDER, PLACEHOLDER]),
        (["--token"], [PLACEHOLDER]),
        (["--token", "--password", "x"], [PLACEHOLDER] * 3),
        (
            ["--tokens", "5", "--keyboard=us", "token", "--", "-k"],
            ["--tokens", "5", "--keyboard=us", "token", "--", "-k"],
        ),
        (["-H", "authorization: BEARER abcdefghijklmnop"], ["-H", f"authorization: {PLACEHOLDER}"]),
        ([f"url={GITHUB.upper()}"], [f"url={PLACEHOLDER}"]),
        (["say", "my hunter2-hunter2!"], ["say", f"my {PLACEHOLDER}!"]),
        (
            ["show", "da39a3ee5e6b4b0d3255bfef95601890afd80709"],
            ["show", "da39a3ee5e6b4b0d3255bfef95601890afd80709"],
        ),
        (["--token=", ""], [f"--token={PLACEHOLDER}", ""]),
    ],
)
def test_recorded_arguments_lose_their_secrets(args: list[str], clean: list[str]) -> None:
    assert redact_args("program", args, {"FAKE_TOKEN": "hunter2-hunter2"}) == clean


@pytest.mark.parametrize(
    ("program", "args", "clean"),
    [
        ("curl", ["-u", "me:hunter22", "http://h"], ["-u", PLACEHOLDER, "http://h"]),
        ("mysql", ["-phunter22", "db"], [f"-p{PLACEHOLDER}", "db"]),
        ("docker", ["login", "-u", "me", "-p", "hunter22"], ["login", "-u", "me", "-p", PLACEHOLDER]),
        ("htpasswd", ["-b", "file", "me", "hunter22"], ["-b", "file", "me", PLACEHOLDER]),
        ("ls", ["-u", "me:hunter22"], ["-u", "me:hunter22"]),
    ],
)
def test_recorded_arguments_lose_what_their_program_takes_for_a_secret(
    program: str, args: list[str], clean: list[str]
) -> None:
    assert redact_args(program, args, {}) == clean


@pytest.mark.parametrize(
    "words",
    [
        ["curl", "-u", "me:hunter22sekret"],
        ["curl", "-ume:hunter22sekret"],
        ["curl", "--user", "me:hunter22sekret", "https://example.org"],
        ["mysql", "-phunter22sekret"],
        ["sshpass", "-p", "hunter22sekret", "ssh"],
        ["docker", "login", "-p", "hunter22sekret"],
        ["agent", "--password", "hunter22sekret"],
    ],
)
def test_arguments_in_a_list_are_read_as_one_command_line(words: list[str]) -> None:
    redactor = Redactor([])
    assert "hunter22sekret" not in str(redactor.value({"command": words}))
    assert redactor.may_find(msgspec.json.encode(words))
    assert redactor.value(words)[0] == words[0]
