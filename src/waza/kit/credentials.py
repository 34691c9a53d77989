"""What credentials look like: a table of kinds, each an RE2 pattern by the name that scanners of secrets know it by.

`SHAPES` are unmistakable by themselves. In `LABELLED`, a label says what the text behind it is (`password=...`,
`Cookie: ...`, `--token ...`); the one group of each pattern is the secret, and `is_secret` tells it from references
to secrets and from words about them. `FULL_SHAPES` are for texts that nobody reads figures from.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping

_START = r"(?:\b|\\[nrt])"  # a line end escaped in JSON hides the start of a word
_PEM_LABEL = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"

SHAPES: Mapping[str, str] = {
    "github_pat": r"gh[pousr]_\w{36,}|github_pat_\w{22,}",
    "openai_key": _START
    + r"sk-(?:proj-)?[A-Za-z0-9_-]{20,}",  # and others that begin so: sk-ant-, sk-or-, sk-svcacct-
    "aws_access_key": r"AKIA[A-Z0-9]{16}|" + _START + r"(?:ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
    "aws_secret_key": r"""(?i:aws[_\s-]?secret[_\s-]?(?:access[_\s-]?)?key)["'\s:=\\]+[A-Za-z0-9/+=]{40}""",
    "jwt": r"eyJ[A-Za-z0-9_-]+\.eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+",
    "bearer_header": _START + r"(?i:bearer)\s+[A-Za-z0-9._~+/=-]{16,}",
    "basic_authorization": r"""(?i:authorization["'\s:=\\]+basic)\s+[A-Za-z0-9+/=_-]{8,}""",
    "private_key_pem": (
        rf"-----BEGIN {_PEM_LABEL}(?:-?[^-])*-----END {_PEM_LABEL}"
        rf"|-----BEGIN {_PEM_LABEL}[A-Za-z0-9+/=\s\\]{{40,}}"  # the end was cut off
    ),
    "azure_key": r"(?i:accountkey|sharedaccesskey)=[A-Za-z0-9+/=]{40,}|[?&]sig=[A-Za-z0-9%+/=]{20,}",
    "azure_ad_client_secret": _START + r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}",
    "google_key": _START + r"(?:AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{28})",
    "slack": (
        r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Z0-9]+-[0-9]+-[a-z0-9]+"
        r"|hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_+-]{20,}"
    ),
    "discord_webhook": r"discord(?:app)?\.com/api/webhooks/[0-9]+/[A-Za-z0-9_-]{20,}",
    "telegram_bot": _START + r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}",
    "gitlab": r"gl(?:pat|dt|rt|ptt|cbt|ft|soat|oas|imt)-[A-Za-z0-9_.-]{20,}",
    "npm": r"npm_[A-Za-z0-9]{36}",
    "pypi": r"pypi-[A-Za-z0-9_-]{50,}",
    "rubygems": _START + r"rubygems_[a-f0-9]{48}",
    "docker_hub": r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}",
    "hugging_face": _START + r"(?:hf_|api_org_)[A-Za-z0-9]{30,}",
    "groq": _START + r"gsk_[A-Za-z0-9]{40,}",
    "xai": _START + r"xai-[A-Za-z0-9]{60,}",
    "perplexity": _START + r"pplx-[A-Za-z0-9]{40,}",
    "replicate": _START + r"r8_[A-Za-z0-9]{37}",
    "nvidia": _START + r"nvapi-[A-Za-z0-9_-]{40,}",
    "langsmith": r"lsv2_(?:pt|sk)_[A-Za-z0-9_]{32,}",
    "databricks": _START + r"dapi[a-f0-9]{32}(?:-[0-9])?",
    "digitalocean": r"do[opr]_v1_[a-f0-9]{64}",
    "vault": _START + r"(?:hv[bsr]\.[A-Za-z0-9_-]{20,}|s\.[A-Za-z0-9]{24})\b",
    "sendgrid": _START + r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    "mailgun": _START + r"key-[a-f0-9]{32}\b",
    "mailchimp": _START + r"[a-f0-9]{32}-us[0-9]{1,2}\b",
    "twilio": _START + r"SK[a-f0-9]{32}\b",
    "stripe": _START + r"(?:[rs]k_(?:live|test)_[A-Za-z0-9]{20,}|whsec_[A-Za-z0-9+/=]{24,})",
    "square": r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}",
    "shopify": r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}",
    "atlassian": r"ATATT3[A-Za-z0-9_=-]{60,}",
    "airtable": _START + r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}",
    "linear": r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}",
    "notion": _START + r"(?:ntn_|secret_)[A-Za-z0-9]{40,}",
    "postman": r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}",
    "grafana": r"glc_[A-Za-z0-9+/=]{32,}|glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}",
    "new_relic": r"NRAK-[A-Z0-9]{27}|NRJS-[a-f0-9]{19}",
    "sentry": r"sntry[su]_[A-Za-z0-9+/=_]{40,}",
    "doppler": r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}",
    "pulumi": r"pul-[a-f0-9]{40}",
    "terraform_cloud": r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}",
    "heroku": r"HRKU-[A-Za-z0-9_-]{36,}",
    "planetscale": r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9=._-]{32,}",
    "supabase": _START + r"sbp_[a-f0-9]{40}",
    "tailscale": r"tskey-[a-z]+-[A-Za-z0-9_-]{16,}",
    "figma": _START + r"figd_[A-Za-z0-9_-]{36,}",
    "onepassword": r"ops_eyJ[A-Za-z0-9+/=]{60,}",
    "age_key": r"AGE-SECRET-KEY-1[A-Z0-9]{58}",
}
FULL_SHAPES: Mapping[str, str] = {
    "azure_openai_key": _START + r"[0-9A-Fa-f]{32,64}\b",
    "basic_auth_header": _START + r"(?i:basic)\s+[A-Za-z0-9+/=]{16,}",
    "email": r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}",
}

_QUOTE = r"""\\*["']"""  # in JSON text it is escaped, in JSON inside of JSON more than once
_PASSWORD = r"(?i:[\w.-]*(?:password|passwd|passphrase|[_.-]pwd|[_.-]pass))[0-9]?"  # noqa: S105  it is a name
_OTHER = (
    r"(?i:[\w.-]*(?:secret|token|api[_.-]?key|(?:access|private|secret|account|signing|encryption|master)[_.-]?key"
    r"|credentials?|auth[_.-]?header|conn(?:ection)?[_.-]?str(?:ing)?|[_.-]pat|[_.-]dsn|[_.-]jwt))[0-9]?"
)
_NAME = f"(?:{_PASSWORD}|{_OTHER})"
_VARIABLE = _START + r"[A-Z0-9_]*_(?:KEY|AUTH|COOKIE|CREDS)[0-9]?"
_SHELL_PASSWORD = r"[A-Z0-9_]*(?:PASSWORD|PASSWD|PASSPHRASE|_PWD|_PASS)[0-9]?"  # noqa: S105  it is a name
_VALUE = r"""[^\s"'`,;&|<>(){}\[\]\\]"""
_CALL = r"[(\[]?"  # behind a value: what is called or looked up is no secret
_SCHEME = r"(?i:bearer|basic|token|digest|negotiate|api-?key|bot|aws4-hmac-sha256)"

LABELLED: Mapping[str, str] = {
    "url_credentials": r"""://([^\s/?#:@"'<>]*:[^\s/?#"'<>]+)@""",
    "url_token": r"://([A-Za-z0-9_.~%+-]{16,})@",
    "url_query": (
        r"""[?&;](?i:[\w-]*(?:token|secret|password|api_?key|signature|sig))=([^\s&#"'<>\\;]{6,})"""
    ),
    "url_key": r"""[?&](?i:key|auth|code|sas)=([^\s&#"'<>\\;]{16,})""",
    "cookie": rf"""{_START}(?i:(?:set-)?cookie)(?:{_QUOTE})?\s*[:=]\s*(?:{_QUOTE})?([\w.!#$%&*+^~-]+=[^\r\n"'\\]{{4,}})""",
    "authorization": (
        rf"""(?i:authorization)(?:{_QUOTE})?\s*[:=]\s*(?:{_QUOTE})?{_SCHEME}\s+([^\s"',;\\]{{6,}})"""
    ),
    "bare_authorization": (
        rf"""(?i:authorization)(?:{_QUOTE})?\s*[:=]\s*(?:{_QUOTE})?([^\s"',;\\]*[0-9][^\s"',;\\]*)"""
    ),
    "option": (
        rf"""(?:^|[\s"'(=,]|\\[nrt])-(?:-?{_NAME}|-(?i:auth|key))(?:=|\s+|{_QUOTE}\s*,\s*{_QUOTE})(?:{_QUOTE})?([^\s"'`;|&\\]{{4,}})"""
    ),
    "database_option": (
        _START
        + r"""(?:mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb-dump)\s(?:[^\n|;&]*?\s)?-p([^\s"'`|;&\\]{3,})"""
    ),
    "login_option": (
        rf"""{_START}(?:sshpass|(?:docker|podman|helm|oc|az|npm|buildah|skopeo)\s[^\n|;&]*?login)\s(?:[^\n|;&]*?\s)?-p[\s=]*(?:{_QUOTE})?([^\s"'`|;&\\]{{3,}})"""
    ),
    "user_option": (
        rf"""{_START}(?:curl|wget|http|https)\s(?:[^\n|;&]*?\s)?(?:-u|--user|-a)[\s=]*(?:{_QUOTE})?([^\s"':\\]+:[^\s"'`|;&\\]{{3,}})"""
    ),
    "redis_option": rf"""{_START}redis-cli\s(?:[^\n|;&]*?\s)?-a\s+(?:{_QUOTE})?([^\s"'`|;&\\]{{3,}})""",
    "htpasswd_argument": (
        rf"""{_START}htpasswd\s(?:[^\n|;&]*?\s)?-\w*b\w*(?:\s+-\S+)*(?:\s+[^\s|;&<>-][^\s|;&<>]*){{1,3}}\s+(?:{_QUOTE})?([^\s"'`|;&\\]{{3,}})"""
    ),
    "openssl_option": (
        rf"""{_START}openssl\s(?:[^\n|;&]*?\s)?(?:-[kK]\s+|-pass(?:in|out)?\s+pass:)(?:{_QUOTE})?([^\s"'`|;&\\]{{3,}})"""
    ),
    "quoted": rf"""{_NAME}(?:{_QUOTE})?\s*(?:=>|:=|[:=])\s*[bru]?{_QUOTE}([^\s"'\\]{{4,}}){_QUOTE}""",
    "assignment": rf"{_NAME}=({_VALUE}{{4,}}){_CALL}",
    "variable": rf"{_VARIABLE}=({_VALUE}{{8,}}){_CALL}",
    "words": rf"""{_START}(?:export\s+{_PASSWORD}|{_SHELL_PASSWORD})={_QUOTE}([^"'\\\r\n]{{4,}}){_QUOTE}""",
    "element": rf"<{_NAME}(?:\s[^<>]*)?>([^\s<>]{{4,}})</",
    "block": (
        rf"{_NAME}(?:{_QUOTE})?\s*:\s*[|>][0-9+-]*[ \t]*\r?\n[ \t]+([^\s][^\r\n]{{5,}}(?:\r?\n[ \t]+[^\s:]{{8,}})*)"
    ),
    "netrc": _START
    + r"""(?:machine\s+\S+|default)\s+login\s+\S+\s+(?:account\s+\S+\s+)?password\s+([^\s"'\\]{4,})""",
    "docker_auth": rf"{_QUOTE}auth{_QUOTE}\s*:\s*{_QUOTE}([A-Za-z0-9+/]{{8,}}={{0,2}}){_QUOTE}",
    "entry": rf"{_NAME}(?:{_QUOTE})?(?:\s*:|\s+=)\s*({_VALUE}{{6,}}){_CALL}",
}

# Behind other labels, words follow as often as secrets do.
_UNSURE = frozenset({
    "quoted", "assignment", "variable", "entry", "bare_authorization", "words", "element", "block", "netrc",
})  # fmt: skip
_OF_PASSWORDS = frozenset(
    {"quoted", "assignment", "words", "element", "block", "netrc"}
)  # which may be words
_PROSE = 4  # blanks
_NAMES_PASSWORD = re.compile(rf"{_PASSWORD}\W*\Z")
_REFERENCE = re.compile(
    r"[$%<{\[*#@(!]|-{1,2}[A-Za-z]"
)  # how a variable, a place to fill in, an option begins
_LOOKED_UP = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z")  # os.environ, config.password
_WORDS = frozenset({
    "none", "null", "true", "false", "undefined", "string", "text", "bytes", "object", "number", "integer",
    "required", "optional", "missing", "invalid", "password", "passwd", "secret", "token", "hidden", "masked",
    "redacted", "changed", "expired", "empty", "unset", "example", "placeholder", "value", "input", "prompt",
    "default",
})  # fmt: skip


def is_secret(kind: str, label: str, value: str, rest: str) -> bool:
    """Return whether the value behind a label may be a secret, and not a reference to one or a word about it.

    `kind` is the name of the pattern in `LABELLED`, `rest` what follows the value in its match.
    """
    if _REFERENCE.match(value) or rest[:1] in ("(", "["):
        return False
    if kind == "docker_auth":
        return _names_user(value)
    if kind not in _UNSURE:
        return True
    if value.isdecimal() or value.lower().strip(".!?:*") in _WORDS or _LOOKED_UP.match(value):
        return False
    password = kind in _OF_PASSWORDS and bool(_NAMES_PASSWORD.search(label))
    with_digits = any(char.isdecimal() for char in value)
    if kind == "block" and " " in value:  # most blocks are prose
        return password and with_digits and value.count(" ") < _PROSE
    return password or with_digits


def _names_user(value: str) -> bool:
    """Tell whether a text is the base64 of a user's name and a password."""
    return b":" in base64.b64decode(value[: len(value) // 4 * 4])
