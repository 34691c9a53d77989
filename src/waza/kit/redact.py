"""Secrets out of text, before it is stored or shown.

Two levels. `text` and `value`, for results, journal and cache: the values that the run was given under names
that look secret, and the kinds of `waza.kit.credentials`. `full_text` and `full_value`, for snapshots,
transcripts, session logs and failure artifacts: besides these, long hex words, `basic` headers and mail
addresses, and the values of keys with secret-looking names.

Redact before cutting: half of a secret is not recognised. A second pass changes nothing.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from itertools import pairwise
from operator import is_
from typing import Any, Literal
from urllib.parse import quote

import msgspec

from waza.kit.credentials import FULL_SHAPES, LABELLED, SHAPES, is_secret
from waza.kit.pattern import (
    Pattern,
    compile_alternatives,
    compile_grouped,
    compile_pattern,
    literal,
    substitute,
    substitute_groups,
)

PLACEHOLDER = "[REDACTED]"

KEY_DENY_LIST = ("SECRET", "TOKEN", "PASSWORD", "PASSWD", "PWD", "KEY", "CREDENTIAL", "API_KEY", "AUTH")

# Names of options and variables, in lower case with dashes: secret as a whole or as the last words.
_SECRET_WORDS = frozenset({
    "secret", "token", "password", "passwd", "credential", "credentials", "key", "auth", "authorization", "sig",
    "signature", "connection", "connection-string", "connectionstring", "apikey", "accesskey", "privatekey",
    "clientsecret", "clientpassword", "accesstoken", "refreshtoken", "passphrase", "auth-header", "cookie",
    "cookies", "conn-str", "connstr", "dsn", "jwt", "bearer",
})  # fmt: skip
# Environment variables are secret, besides, with these anywhere in the name or as its last word.
_SECRET_FRAGMENTS = (
    "secret", "token", "password", "passwd", "passphrase", "credential", "api-key", "apikey", "access-key",
    "accesskey", "private-key", "privatekey", "connection-string", "connectionstring", "auth-header", "conn-str",
)  # fmt: skip
_SECRET_ENDINGS = ("-pwd", "-pass", "-pat", "-creds")

_SHORTEST = 6  # no rule of ours matches a shorter text
_SHORTEST_SECRET = 8
_SHORTEST_MIXED = 6  # of letters and digits, which no harmless word is
_LONGEST_PATTERN = 4096  # characters of a secret
_MOST_ESCAPED = 4000  # characters of all secrets together that may be escaped; more would make searches slow
_BEGINNING = 100  # characters of a long secret that make a text suspicious
_DEEPEST = 200
_IN_HTML = {
    "&": ("&amp;",), "<": ("&lt;",), ">": ("&gt;",), '"': ("&quot;", "&#34;"), "'": ("&#x27;", "&#39;", "&apos;"),
}  # fmt: skip
_LINE_END = re.compile(r"(?:\r?\n|\\r|\\n)+")
# Base64 in lines, mostly of 64 or 76 characters.
_WRAPPED = r"(?:[A-Za-z0-9+/_-]{40,}(?:\r?\n|(?:\\+r)?\\+n)[ \t]*)+[A-Za-z0-9+/_=-]+"
_LINE_BREAK = re.compile(r"\\+[rn]|\s")
_KEY_LINE = re.compile(r"[A-Za-z0-9+/=_-]{20,}\Z")

# Of recorded arguments these are replaced in any case, upper or lower.
_KINDS = tuple(LABELLED)
_SCHEMES = ("bearer", "basic", "token", "digest", "apikey", "api-key", "bot", "negotiate")
_ARGUMENT_RULES = ("github_pat", "openai_key", "aws_access_key", "jwt", "bearer_header")


class RedactionPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What the full level redacts besides what results leave out: rules (name to RE2 pattern), and the values of keys.

    A key is secret with one of `secret_keys` (in upper case) in its name, in any case. `label` says where the policy
    is from: waza (`default`), a file (`custom`), or both.
    """

    label: Literal["default", "custom", "default+custom"] = "default"
    rules: Mapping[str, str]
    secret_keys: tuple[str, ...] = KEY_DENY_LIST

    def denies(self, key: str) -> bool:
        """Tell whether the value of a key is redacted as a whole."""
        return any(part in key.upper() for part in self.secret_keys)


DEFAULT_POLICY = RedactionPolicy(rules=FULL_SHAPES)


class Redactor:
    """Replaces secrets by `[REDACTED]`. Make one per process with `for_environment`."""

    def __init__(self, secrets: Sequence[str], *, policy: RedactionPolicy = DEFAULT_POLICY) -> None:
        """`secrets` are exact values; the `policy` is that of the full level.

        Raises PatternError for a rule that cannot be compiled.
        """
        self.policy = policy
        for pattern in policy.rules.values():
            compile_pattern(pattern)
        self._values, self._texts = _forms(secrets)
        self._results = _Rules([*self._values, *SHAPES.values()], self._texts)

    @classmethod
    def for_environment(
        cls, env: Mapping[str, str], *given: Any, policy: RedactionPolicy = DEFAULT_POLICY
    ) -> Redactor:
        """Take the values of the variables of `env` whose names look secret, and those in what else was `given`.

        `given` is JSON-like data such as the settings of a server: the value of a name that looks
        secret, behind an option or in a header counts, however deep. Not taken, because they would be found in
        harmless text: values shorter than 8 characters (6 with letters and digits), numbers, and absolute paths
        that exist. A taken value is found as it is, escaped as in JSON and URLs, and in base64; of a key of several
        lines each long line counts, and of JSON the values of secret names.
        """
        values = {
            part.strip() for value in _secrets_of(dict(env), *given) for part in (value, *_parts(value))
        }
        return cls(sorted(value for value in values if not _is_harmless(value)), policy=policy)

    @cached_property
    def _full(self) -> _Rules:  # which takes long, and most runs have no need of it
        custom = self.policy is not DEFAULT_POLICY
        rules = [*self._values, *SHAPES.values(), *self.policy.rules.values()]
        return _Rules(rules, self._texts, shortest=1 if custom else _SHORTEST)

    def text(self, text: str) -> str:
        """Return the text for results; the same object if nothing was found."""
        return self._results.redact(text)

    def may_find(self, data: bytes) -> bool:
        """Return whether an encoded JSON document may hold something to redact for results.

        False positives are possible, false negatives are not; one search of the whole is much cheaper than one a text.
        """
        spaced = data.replace(b"\\n", b"\n").replace(b"\\t", b"\t").replace(b"\\r", b"\r")
        spaced = spaced.replace(b'","', b" ")  # the arguments of a program, as one line
        suspicious = self._results.suspicious.search_bytes
        return suspicious(data) or (spaced != data and suspicious(spaced))

    def value(self, value: Any) -> Any:
        """Return JSON-like data for results, strings and keys redacted; the same object if nothing was found.

        Data nested deeper than 200 levels is replaced there as a whole.
        """
        return _walk(value, self.text, ())

    def full_text(self, text: str) -> str:
        """Return the text for snapshots, logs and artifacts; the same object if nothing was found."""
        return self._full.redact(text)

    def full_value(self, value: Any) -> Any:
        """Return JSON-like data for snapshots, logs and artifacts.

        As `value`, and the value of a key that contains SECRET, TOKEN, KEY and so on, in any case, is
        replaced as a whole; counts of tokens (a number under `input_tokens`) stay.
        """
        return _walk(value, self.full_text, self.policy.secret_keys)

    def rules_for(self, text: str) -> set[str]:
        """Return the names of the rules of the full level that find something in a text.

        `known_value` is the value of a secret variable or setting.
        """
        rules = {**SHAPES, **self.policy.rules}
        found = {name for name, pattern in rules.items() if compile_pattern(pattern).search(text)}

        def note(kind: int, label: str, value: str, rest: str) -> str:
            if is_secret(_KINDS[kind], label, value, rest):
                found.add(_KINDS[kind])
            return value

        substitute_groups(_labelled(), note, text)
        known = compile_alternatives(self._values).search(text) if self._values else False
        if known or any(one in text for one in self._texts):
            found.add("known_value")
        return found


class FullRedactor(Redactor):
    """The full level of a redactor, as a redactor: `text` and `value` are those for snapshots, logs and artifacts.

    `count` is the number of replaced texts, without the values of secret keys; `applied` are the names of their rules.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor, self.policy = redactor, redactor.policy
        self.count, self.applied = 0, set[str]()

    def text(self, text: str) -> str:
        """Return the text without secrets; the same object if nothing was found."""
        clean = self._redactor.full_text(text)
        if clean is not text:
            self.count += max(1, clean.count(PLACEHOLDER) - text.count(PLACEHOLDER))
            self.applied |= self._redactor.rules_for(text)
        return clean

    def may_find(self, data: bytes) -> bool:
        """Return True: only a search of each text can tell."""
        del data
        return True

    def value(self, value: Any) -> Any:
        """Return JSON-like data without secrets, as `Redactor.full_value`."""
        return _walk(value, self.text, self.policy.secret_keys)

    full_text, full_value = text, value


def redact_args(program: str, args: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """Return the arguments of a recorded call of a program without secrets.

    An option with a secret name (`--api-token`, `-password`) loses its value: with `=` what follows the
    sign, otherwise the option and the next argument as a whole. In every other argument secret values of
    `env`, shapes of credentials, and what the program takes for a secret (`curl -u NAME:PASSWORD`) are replaced.
    """
    redactor = Redactor.for_environment(env)
    tokens = compile_alternatives(f"(?i){SHAPES[name]}" for name in _ARGUMENT_RULES)
    clean: list[str] = []
    hide_next = False
    for arg in args:
        option, equals, _ = arg.partition("=")
        secret = _is_secret_option(option)
        if hide_next or (secret and not equals):
            clean.append(PLACEHOLDER)
        elif secret:
            clean.append(f"{option}={PLACEHOLDER}")
        else:
            clean.append(substitute(tokens, _placeholder, redactor.text(arg)))
        hide_next = secret and not equals
    return _without(_argument_secrets([program, *args]), clean)


class _Rules:
    """Rules of what to redact: long secrets, patterns of secrets, values behind labels, and lines of base64.

    `suspicious` matches wherever there may be any of it, so that most texts need one search only.
    """

    def __init__(self, patterns: Sequence[str], texts: Sequence[str], *, shortest: int = _SHORTEST) -> None:
        self._patterns, self._texts, self._shortest = patterns, texts, shortest
        beginnings = {literal(text[:_BEGINNING]) for text in texts}
        self.suspicious = compile_alternatives([*patterns, *beginnings, *LABELLED.values(), _WRAPPED])

    @cached_property
    def _secrets(self) -> Pattern:
        return compile_alternatives(self._patterns)

    def redact(self, text: str) -> str:
        """Return the text without secrets; the same object if it has no secrets."""
        if len(text) < self._shortest or not self.suspicious.search(text):
            return text
        clean = text
        for secret in self._texts:
            clean = clean.replace(secret, PLACEHOLDER)
        clean = substitute(self._secrets, _placeholder, clean)
        clean = substitute_groups(_labelled(), _unless_harmless, clean)
        clean = substitute(compile_alternatives([_WRAPPED]), partial(_unwrapped, self._secrets), clean)
        return text if clean == text else clean


def _unwrapped(pattern: Pattern, lines: str) -> str:
    """Return lines of base64 as they are, or redacted and joined where something was found."""
    joined = _LINE_BREAK.sub("", lines)
    clean = substitute(pattern, _placeholder, joined)
    return lines if clean is joined else clean


@cache
def _labelled() -> Pattern:
    return compile_grouped(LABELLED.values())


def _placeholder(found: str) -> str:
    del found
    return PLACEHOLDER


def _unless_harmless(kind: int, label: str, value: str, rest: str) -> str:
    return PLACEHOLDER if is_secret(_KINDS[kind], label, value, rest) else value


def _secrets_of(*given: Any) -> Iterator[str]:
    """Yield the values of names that look secret, and those behind labels in texts, at any depth."""
    for value in given:
        if isinstance(value, dict):
            for name, item in value.items():
                if isinstance(item, str) and _is_secret_variable(str(name)):
                    yield item
                else:
                    yield from _secrets_of(item)
        elif isinstance(value, list | tuple):
            words = [word for word in value if isinstance(word, str)]
            yield from (after for word, after in pairwise(words) if _is_secret_option(word))
            yield from _secrets_of(*value)
        elif isinstance(value, str) and len(value) >= _SHORTEST:
            for found in _labelled_values(value):
                yield found
                yield found.partition(":")[2]  # of a user and a password


def _labelled_values(text: str) -> list[str]:
    found: list[str] = []

    def note(kind: int, label: str, value: str, rest: str) -> str:
        if is_secret(_KINDS[kind], label, value, rest):
            found.append(value)
        return value

    substitute_groups(_labelled(), note, text)
    return found


def _parts(secret: str) -> Iterator[str]:
    """Yield what is secret of a value.

    Of a header the token behind its scheme and the values of cookies, of a key its lines, of JSON its secret entries.
    """
    scheme, blank, token = secret.partition(" ")
    if blank and scheme.lower() in _SCHEMES:
        yield token
    for cookie in secret.split(";"):
        name, equals, value = cookie.partition("=")
        if equals and name.strip().isidentifier() and any(char.isdecimal() for char in value):
            yield value
    lines = _LINE_END.split(secret)
    yield from (line for line in lines if len(lines) > 1 and _KEY_LINE.match(line))
    if secret.lstrip()[:1] in ("{", "["):
        try:
            entries = json.loads(secret)
        except (ValueError, RecursionError):
            return
        for entry in _secrets_of(entries):
            yield from (entry, *_parts(entry))


def _walk(value: Any, redact: Callable[[str], str], deny_list: Sequence[str], depth: int = 0) -> Any:
    if isinstance(value, str):
        return redact(value)
    if not isinstance(value, dict | list | tuple) or not value:
        return value
    if depth >= _DEEPEST:
        return PLACEHOLDER
    if isinstance(value, dict):
        return _walk_map(value, redact, deny_list, depth)
    items = [_walk(item, redact, deny_list, depth + 1) for item in value]
    items = _without(_argument_secrets(value), items)
    return value if all(map(is_, items, value)) else type(value)(items)


def _without(secrets: Sequence[str], items: Sequence[Any]) -> list[Any]:
    """Return the items with the secrets in their texts replaced."""
    clean = list(items)
    for secret in secrets:
        clean = [item.replace(secret, PLACEHOLDER) if isinstance(item, str) else item for item in clean]
    return clean


def _argument_secrets(words: Sequence[Any]) -> list[str]:
    """Return the secrets in the arguments of a program, which the option before them or the program gives away."""
    if not any(isinstance(word, str) and word.startswith("-") for word in words):
        return []
    return _labelled_values(" ".join(word for word in words if isinstance(word, str)))


def _walk_map(
    value: dict[Any, Any], redact: Callable[[str], str], deny_list: Sequence[str], depth: int
) -> Any:
    clean: dict[Any, Any] = {}
    changed = False
    for key, item in value.items():
        clean_key = redact(key) if isinstance(key, str) else key
        denied = any(part in str(key).upper() for part in deny_list) and not _is_count(key, item)
        denied = denied or (isinstance(item, str) and _is_secret_entry(str(key), item))
        clean_item = PLACEHOLDER if denied else _walk(item, redact, deny_list, depth + 1)
        while clean_key in clean:  # two keys with secrets: none of the entries may be lost
            clean_key += "_"
        clean[clean_key] = clean_item
        changed = changed or clean_key is not key or clean_item is not item
    return clean if changed else value


def _is_secret_entry(key: str, value: str) -> bool:
    """Tell whether `"key": "value"` would be redacted in a text."""
    return bool(_is_secret_variable(key) and _labelled_values(f'"{key}": "{value}"'))


def _is_secret_option(word: str) -> bool:
    return word.startswith("-") and _ends_secret(_dashed(word.lstrip("-")))


def _is_count(key: object, value: object) -> bool:
    """Tell a number of language-model tokens, which is not a secret, from a token."""
    return isinstance(value, int | float) and str(key).lower().endswith("tokens")


def _is_secret_variable(name: str) -> bool:
    dashed = _dashed(name).rstrip("0123456789").rstrip("-")
    return (
        _ends_secret(dashed)
        or dashed.endswith(_SECRET_ENDINGS)
        or any(fragment in dashed for fragment in _SECRET_FRAGMENTS)
    )


def _dashed(name: str) -> str:
    return name.replace("_", "-").lower()


def _ends_secret(dashed: str) -> bool:
    words = dashed.split("-")
    return bool(_SECRET_WORDS & {words[-1], "-".join(words[-2:])})


def _is_harmless(value: str) -> bool:
    mixed = any(char.isalpha() for char in value) and any(char.isdecimal() for char in value)
    if len(value) < (_SHORTEST_MIXED if mixed else _SHORTEST_SECRET) or value.replace(".", "", 1).isdecimal():
        return True
    # Not Path.exists, which raises where a value is too long for a file name.
    return os.path.isabs(value) and os.path.exists(value)  # noqa: PTH110, PTH117  see above


def _forms(secrets: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return patterns for secrets as they are or escaped, however often, and in base64; and the longest as texts.

    A pattern of a long text takes the time of its square. So the longest are given as they are, and as JSON and URLs
    write them, the longer first.
    """
    space = _MOST_ESCAPED
    patterns, texts = list[str](), set[str]()
    for secret in sorted(secrets, key=len):
        space -= sum(not _is_plain(char) for char in secret)
        if space >= 0 and len(secret) <= _LONGEST_PATTERN:
            patterns.append("".join(map(_escaped, secret)))
        else:
            in_json = (json.dumps(secret, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False))
            texts.update((secret, *in_json, quote(secret, safe="", errors="surrogatepass")))
        if len(secret) <= _LONGEST_PATTERN:
            for stable in _base64_cores(secret.encode("utf-8", "surrogatepass")):
                core = "".join(map(_in_base64, stable))
                patterns.append(f"{core}[A-Za-z0-9+/_-]{{0,3}}={{0,2}}")
    return patterns, sorted(texts, key=len, reverse=True)


def _is_plain(char: str) -> bool:
    """Tell whether nothing escapes a character."""
    return char.isascii() and char.isalnum()


@cache
def _escaped(char: str) -> str:
    """Return a pattern for a character as it is, and as JSON, URLs, forms and HTML write it."""
    if _is_plain(char):
        return char
    in_url = "".join(f"%(?:25)*{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))
    units = char.encode("utf-16-be", "surrogatepass").hex()
    in_json = "".join(rf"\\+u{units[at : at + 4]}" for at in range(0, len(units), 4))
    short = json.dumps(char)[1:-1].lstrip("\\")
    forms = [rf"\\*{literal(char)}", f"(?i:{in_url}|{in_json})"]
    if char == "\\":
        forms[0] = r"\\+"
    elif char < " " and len(short) == 1:
        forms += [rf"\\+{short}", *([r"\r\n", r"\\+r\\+n"] if char == "\n" else ())]
    elif char == " ":
        forms.append(r"\+|(?i:%(?:25)*2b)")
    forms += map(literal, _IN_HTML.get(char, ()))
    return f"(?:{'|'.join(forms)})"


def _in_base64(char: str) -> str:
    return {"+": "[+-]", "/": "[/_]"}.get(char, char)


def _base64_cores(secret: bytes) -> Iterator[str]:
    """Return what base64 makes of the secret at any position in the encoded bytes.

    Three bytes make four characters, so there are three ways; of each, the characters that also depend
    on the bytes before or after are left out.
    """
    for before in range(3):
        padded = b"\0" * before + secret
        first, last = -(-before * 8 // 6), len(padded) * 8 // 6
        yield base64.b64encode(padded).decode()[first:last]
