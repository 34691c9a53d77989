"""Kinds of credentials: what is redacted of each, and what looks nearly the same and stays."""

from __future__ import annotations

import json
import string

import pytest

from waza.kit.credentials import LABELLED, SHAPES
from waza.kit.redact import PLACEHOLDER, Redactor

REDACTOR = Redactor.for_environment({})
ALNUM, HEX = (string.ascii_letters + string.digits) * 4, "0123456789abcdef" * 8

# By kind: credentials that are redacted as a whole, and near misses.
SHAPED = {
    "github_pat": (["ghs_" + ALNUM[:36], "github_pat_" + ALNUM[:22]], ["ghp_short", "ghp_actions"]),
    "openai_key": (["sk-" + ALNUM[:24], "sk-ant-api03-" + ALNUM[:40], "sk-svcacct-" + ALNUM[:30]], ["sk-learn", "task-management-and-something-long"]),
    "aws_access_key": (["AKIA" + "A1" * 8, "ASIA" + "B2" * 8, "ABIA" + "B2" * 8], ["AKIAshort", "FANTASIAABCDEFGHIJKLMNOPQ"]),
    "aws_secret_key": (["aws_secret_access_key = " + "aB3/" * 10], ["aws_secret_access_key is set"]),
    "jwt": (["eyJhbGciOiJ9.eyJzdWIifQ.c2ln"], ["eyJhbGciOiJ9 alone"]),
    "bearer_header": (["Bearer " + ALNUM[:20]], ["bearer of news"]),
    "basic_authorization": (["Authorization: Basic dXNlcjpwYXNz"], ["basic understandingofthings"]),
    "private_key_pem": (["-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----"], ["-----BEGIN CERTIFICATE-----"]),
    "azure_key": (["AccountKey=" + ALNUM[:60]], ["AccountKey=short"]),
    "azure_ad_client_secret": (["abc8Q~" + ALNUM[:33]], ["abc8Q~short"]),
    "google_key": (["AIza" + ALNUM[:35], "ya29." + ALNUM[:30], "GOCSPX-" + ALNUM[:28]], ["AIzaShort", "ya29.x"]),
    "slack": (["xoxb-1234567890-" + ALNUM[:12], "xapp-1-A012-34-abcdef", "hooks.slack.com/services/T0123/B0123/" + ALNUM[:24]], ["xoxb-", "hooks.slack.com/services"]),
    "discord_webhook": (["discord.com/api/webhooks/123456/" + ALNUM[:60]], ["discord.com/api/webhooks"]),
    "telegram_bot": (["123456789:AA" + ALNUM[:33]], ["123456789:AAA"]),
    "gitlab": (["glpat-" + ALNUM[:20], "gldt-" + ALNUM[:20]], ["glpat-short"]),
    "npm": (["npm_" + ALNUM[:36]], ["npm_config_registry"]),
    "pypi": (["pypi-" + ALNUM[:60]], ["pypi-publish"]),
    "rubygems": (["rubygems_" + HEX[:48]], ["rubygems_mirror"]),
    "docker_hub": (["dckr_pat_" + ALNUM[:27]], ["dckr_pat_x"]),
    "hugging_face": (["hf_" + ALNUM[:34]], ["hf_hub_download"]),
    "groq": (["gsk_" + ALNUM[:52]], ["gsk_short"]),
    "xai": (["xai-" + ALNUM[:80]], ["xai-models"]),
    "perplexity": (["pplx-" + ALNUM[:48]], ["pplx-70b-online"]),
    "replicate": (["r8_" + ALNUM[:37]], ["r8_x"]),
    "nvidia": (["nvapi-" + ALNUM[:64]], ["nvapi-docs"]),
    "langsmith": (["lsv2_pt_" + HEX[:32] + "_0123456789"], ["lsv2_pt_x"]),
    "databricks": (["dapi" + HEX[:32], "dapi" + HEX[:32] + "-2"], ["dapi0123", "dapinotahexword0123456789"]),
    "digitalocean": (["dop_v1_" + HEX[:64], "doo_v1_" + HEX[:64]], ["dop_v1_x"]),
    "vault": (["hvs." + ALNUM[:24], "hvb." + ALNUM[:90], "s." + ALNUM[:24]], ["hvs.x", "s.strip", "yes." + ALNUM[:24]]),
    "sendgrid": (["SG." + ALNUM[:22] + "." + ALNUM[:43]], ["SG.x.y"]),
    "mailgun": (["key-" + HEX[:32]], ["key-value"]),
    "mailchimp": ([HEX[:32] + "-us12"], ["abc-us12"]),
    "twilio": (["SK" + HEX[:32]], ["SKILL"]),
    "stripe": (["sk_live_" + ALNUM[:24], "rk_test_" + ALNUM[:24], "whsec_" + ALNUM[:32]], ["sk_live_mode"]),
    "square": (["sq0atp-" + ALNUM[:22]], ["sq0atp-x"]),
    "shopify": (["shpat_" + HEX[:32], "shpss_" + HEX[:32]], ["shpat_x"]),
    "atlassian": (["ATATT3" + ALNUM[:100]], ["ATATT3x"]),
    "airtable": (["pat" + ALNUM[:14] + "." + HEX[:64]], ["pattern.match"]),
    "linear": (["lin_api_" + ALNUM[:40]], ["lin_api_x"]),
    "notion": (["ntn_" + ALNUM[:46], "secret_" + ALNUM[:43]], ["secret_manager"]),
    "postman": (["PMAK-" + HEX[:24] + "-" + HEX[:34]], ["PMAK-x"]),
    "grafana": (["glsa_" + ALNUM[:32] + "_" + HEX[:8], "glc_" + ALNUM[:40]], ["glsa_x"]),
    "new_relic": (["NRAK-" + "AB1" * 9], ["NRAK-x"]),
    "sentry": (["sntrys_" + ALNUM[:60]], ["sntrys_x"]),
    "doppler": (["dp.pt." + ALNUM[:43]], ["dp.pt.x"]),
    "pulumi": (["pul-" + HEX[:40]], ["pul-x"]),
    "terraform_cloud": ([ALNUM[:14] + ".atlasv1." + ALNUM[:64]], ["x.atlasv1.y"]),
    "heroku": (["HRKU-" + ALNUM[:60]], ["HRKU-x"]),
    "planetscale": (["pscale_tkn_" + ALNUM[:43]], ["pscale_tkn_x"]),
    "supabase": (["sbp_" + HEX[:40]], ["sbp_x"]),
    "tailscale": (["tskey-auth-" + ALNUM[:20]], ["tskey-auth-x"]),
    "figma": (["figd_" + ALNUM[:40]], ["figd_x"]),
    "onepassword": (["ops_eyJ" + ALNUM[:100]], ["ops_eyJ"]),
    "age_key": (["AGE-SECRET-KEY-1" + "QPZRY9X8" * 7 + "QP"], ["AGE-SECRET-KEY-1"]),
}  # fmt: skip

# By kind: texts in which SECRET is replaced and all else stays, and texts that stay.
S = "hunter2x"
LABELS = {
    "url_credentials": (["https://SECRET@h/", "postgres://SECRET@db:5432/x"], ["https://host:8080/@x"]),
    "url_token": (["https://SECRETabcdefgh12@github.com/a/b"], ["ssh://git@github.com/a", "https://me@example.com"]),
    "url_query": (["https://h/x?token=SECRET&b=1", "/cb?a=1&access_token=SECRET", "?client_secret=SECRET"], ["/x?page_token=", "?tokens=12"]),
    "url_key": (["https://h/?key=SECRETSECRET&x=1"], ["/x?key=name", "?code=404"]),
    "quoted": (
        ['{"password": "SECRET"}', "db_password = 'SECRET'", '{\\"api_key\\": \\"SECRET\\"}', '"password": "swordfish"'.replace("swordfish", "SECRET"), "apiKey: 'SECRET'", "'token' => 'SECRET'"],
        ['"password": "required"', '"token": "identifier"', 'password = "$PASSWORD"', '"password": ""', 'input("Password: ")', '{"token": "let"}'],
    ),
    "assignment": (
        ["DB_PASSWORD=SECRET", "export GITHUB_TOKEN=SECRET;", "PGPASSWORD=SECRET psql", "a\\nAPI_KEY=SECRET\\nb", "SERVICE_AUTH_HEADER=SECRET", "DB_CONN_STR=SECRET"],
        ["password=os.environ['X']", "token=get_token()", "DB_PASSWORD=$SECRET_REF", "password=getpass.getpass()", "token=${T}", "api_key=None", "password=%s"],
    ),
    "variable": (["STRIPE_KEY=SECRET", "SESSION_COOKIE=SECRET"], ["PRIMARY_KEY=identifier", "SORT_KEY=name"]),
    "entry": (["password: SECRET", "api_key: SECRET", "token = SECRET", "X-Api-Key: SECRET"], ["Password: required", "token: string", "secret = compute(x1)", "Tokens: 12345678", "password: must be 8 long"]),
    "cookie": (["Cookie: SECRET", "Set-Cookie: SECRET", '"cookie": "SECRET"'], ["Cookie: none", "a cookie for you"]),
    "authorization": (["Authorization: token SECRET", "authorization: Bearer SECRET", '{"Authorization": "Token SECRET"}'], ["Authorization: required"]),
    "bare_authorization": (["Authorization: SECRET"], ["authorization: pending", "authorization = self.auth"]),
    "option": (
        ["tool --password SECRET x", "tool --api-key=SECRET", "tool --client-secret 'SECRET'", "tool -password SECRET", '["--token", "SECRET"]', "gh auth --token SECRET"],
        ["docker login --password-stdin", "tool --token $TOKEN", "--max-tokens 5000", "tool --token-file key.txt", "tool --password --verbose"],
    ),
    "database_option": (["mysql -u root -pSECRET db", "mysqldump -pSECRET"], ["mysql -u root -p db", "mkdir -p SECRET_dir"]),
    "login_option": (["docker login -u me -p SECRET ghcr.io", "sshpass -p SECRET ssh h", "sshpass -pSECRET ssh h"], ["docker run -p 8080:80", "cp -p file1 file2"]),
    "user_option": (["curl -u SECRET https://h", "curl -s --user 'SECRET' https://h"], ["curl -u $AUTH https://h", "git push -u origin"]),
    "words": (
        ['export PASSWORD="SECRET"', "DB_PASSWORD='SECRET'", "export db_password='SECRET'"],
        ['PASSWORD="$(cat my file)"', 'input_password="Enter your password"', 'PASSWORD=""', 'PASSWORD_HINT="your first pet"'],
    ),
    "element": (
        ["<password>SECRET</password>", '<db.password type="plain">SECRET</db.password>', "<apiKey>SECRET</apiKey>"],
        ["<password>required</password>", "<password>Enter your password</password>", "<token>identifier</token>", "<password></password>", "<password>${p}</password>"],
    ),
    "block": (
        ["password: |\n  SECRET\nuser: ada", "password: >-\n    SECRET\n", "db_password: |\r\n  SECRET\r\n", "token: |\n  SECRET"],
        ["password: |\n  The password of the user.", "password: >\n  Your password must have 8 characters.", "token: |\n  You need 3 tokens for this.", "prompt: |\n  hunter2x"],
    ),
    "netrc": (
        ["machine h login u password SECRET", "machine h\n  login u\n  password SECRET\n", "default login u password SECRET"],
        ["machine learning login form password required", "login u password field"],
    ),
    "docker_auth": (['{"auth": "SECRET"}', '{\\"auth\\": \\"SECRET\\"}'], ['{"auth": "required"}', '{"auth": "deadbeef"}', '{"auth": "oauth2authentication1"}']),
    "htpasswd_argument": (["htpasswd -b users me SECRET", "htpasswd -nb me SECRET > users", "htpasswd -bBC 10 users me SECRET", "htpasswd -bB users me SECRET && echo"], ["htpasswd users someone", "htpasswd -D users someone"]),
    "openssl_option": (["openssl enc -aes-256-cbc -k SECRET -in a", "openssl rsa -passin pass:SECRET -in key.pem"], ["openssl x509 -in file -key file.pem", "openssl rsa -passin env:NAME"]),
    "redis_option": (["redis-cli -a SECRET ping"], ["ls -a SECRET_dir"]),
}  # fmt: skip
VALUES = {
    "cookie": "sid=hunter2x; theme=dark",
    "user_option": "me:hunter2x",
    "words": "two hunters",
    "docker_auth": "dXNlcjpwYXNzd29yZA==",
    "url_credentials": "me:hunter2x",
}


def test_every_kind_is_in_the_tables() -> None:
    assert SHAPED.keys() == SHAPES.keys()
    assert LABELS.keys() == LABELLED.keys()


@pytest.mark.parametrize("kind", SHAPED)
def test_shapes(kind: str) -> None:
    secrets, near = SHAPED[kind]
    for secret in secrets:
        assert REDACTOR.text(f"a ({secret}) b") == f"a ({PLACEHOLDER}) b"
        in_json = REDACTOR.text(rf"line\n{secret}\n")
        assert in_json in (rf"line{PLACEHOLDER}\n", rf"line\n{PLACEHOLDER}\n")
        assert REDACTOR.may_find(json.dumps({"a": [f"x\n{secret}"]}).encode())
    for text in near:
        assert REDACTOR.text(text) is text


@pytest.mark.parametrize("kind", LABELS)
def test_labels(kind: str) -> None:
    texts, near = LABELS[kind]
    for text in texts:
        given = text.replace("SECRET", VALUES.get(kind, S))
        hidden = text.replace("SECRETabcdefgh12", PLACEHOLDER).replace("SECRETSECRET", PLACEHOLDER)
        hidden = hidden.replace("SECRET", PLACEHOLDER)
        assert REDACTOR.text(f"say {given}") == f"say {hidden}"
        assert REDACTOR.text(rf"as repr() writes it\n{given}") == rf"as repr() writes it\n{hidden}"
        assert REDACTOR.text(f"say {hidden}") == f"say {hidden}"
        assert REDACTOR.may_find(json.dumps([f"x\n{given}"]).encode())
    for text in near:
        assert REDACTOR.text(text) is text


@pytest.mark.parametrize(
    "text",
    [
        "The password must have 8 characters; a token is a word. Key: value.",
        "for token in tokens: count[token] += 1",
        "def login(user: str, password: str, token: str = DEFAULT_TOKEN) -> Session:",
        "const secret = await vault.read('db'); const apiKey = process.env.API_KEY",
        "SELECT key, secret FROM tokens WHERE token = 'x'",
        "{{.Vars.password}} and ${{ secrets.TOKEN }}",
    ],
)
def test_prose_and_code_about_secrets_stay(text: str) -> None:
    assert REDACTOR.text(text) is text


def test_structured_data_is_redacted_as_its_text_would_be() -> None:
    value = {
        "password": S, "headers": {"Cookie": "sid=hunter2x", "X-Api-Key": S}, "argv": ["run", "--token", S, "--key", "2"],
        "token": "identifier", "note": "plain",
    }  # fmt: skip
    assert REDACTOR.value(value) == {
        "password": PLACEHOLDER,
        "headers": {"Cookie": PLACEHOLDER, "X-Api-Key": PLACEHOLDER},
        "argv": ["run", "--token", PLACEHOLDER, "--key", "2"],
        "token": "identifier",
        "note": "plain",
    }


def test_no_entry_is_lost_where_keys_are_secrets() -> None:
    first, second = "ghp_" + ALNUM[:36], "ghp_" + ALNUM[1:37]
    assert REDACTOR.value({first: 1, second: 2}) == {PLACEHOLDER: 1, f"{PLACEHOLDER}_": 2}


@pytest.mark.parametrize(
    "given",
    [
        {"environment": {"DB_PASSWORD": "correcthorse"}},
        {"mcp_servers": {"x": {"env": {"SERVICE_COOKIE": "correcthorse"}}}},
        {"headers": {"Authorization": "Bearer correcthorse"}},
        {"headers": {"X-Service-Auth-Header": "correcthorse"}},
        {"args": ["serve", "--api-key", "correcthorse"]},
        {"args": ["serve", "--api-key=correcthorse"]},
        {"command": "agent --password correcthorse -v"},
        {"url": "https://host/mcp?token=correcthorse"},
        {"url": "https://me:correcthorse@host/"},
        {"options": [{"conn_str": "correcthorse"}]},
    ],
    ids=str,
)
def test_what_a_run_was_given_under_a_secret_name_is_known_everywhere(given: object) -> None:
    redactor = Redactor.for_environment({}, given)
    assert redactor.text("it said: correcthorse.") == f"it said: {PLACEHOLDER}."


def test_what_is_given_under_other_names_stays() -> None:
    redactor = Redactor.for_environment(
        {}, {"env": {"MODE": "production1", "author": "ada lovelace"}, "args": ["--name", "correcthorse"]}
    )
    text = "production1 ada lovelace correcthorse"
    assert redactor.text(text) is text
