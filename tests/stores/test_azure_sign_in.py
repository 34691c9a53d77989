"""Who asks: the credentials of Azure, in their order, and `az login` where nobody is signed in."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.stores.test_results_command import Team
from tests.support.program import strict_json, write_tree
from tests.support.stores import Azurite, make_token
from waza.stores.azure_blob import CI_VARIABLES, _connection_of, make_credential

AZ = """#!{python}
import json, pathlib, sys
here = pathlib.Path(__file__).parent
with open(here / "calls", "a") as calls:
    print(" ".join(sys.argv[1:3]), file=calls)
if sys.argv[1] == "login":
    print("Sign in at https://example.com with the code ABCD")
    (here / "signed-in").touch()
elif sys.argv[1] == "account" and (here / "signed-in").exists():
    print(json.dumps({{"accessToken": "{token}", "expires_on": 4102444800, "expiresOn": "2100-01-01 00:00:00.000000"}}))
else:
    sys.exit("Please run 'az login' to setup account.")
"""


@pytest.fixture
def signing_in(secure_azure_server: Azurite, tmp_path: Path) -> tuple[Team, Path]:
    """A project that asks with a token, and the directory of an `az` that is not signed in."""
    programs = write_tree(tmp_path / "programs", {"az": AZ.format(python=sys.executable, token=make_token())})
    (programs / "az").chmod(0o755)
    env = dict.fromkeys((*CI_VARIABLES, "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_TENANT_ID"), "")
    env |= {
        "PATH": f"{programs}{os.pathsep}/usr/bin{os.pathsep}/bin",
        "SSL_CERT_FILE": str(secure_azure_server.certificate),
    }
    container = secure_azure_server.make_container()
    endpoint = f"{secure_azure_server.address}/devstoreaccount1"
    storage = {
        "provider": "azure-blob",
        "accountName": "devstoreaccount1",
        "containerName": container,
        "endpoint": endpoint,
    }
    return Team(tmp_path / "home", json.dumps(storage), env), programs


def test_a_person_signs_in_once(signing_in):
    team, programs = signing_in
    ended, file = team.run_suite()
    assert (ended.code, ended.err.count("Uploaded to azure-blob: suite/")) == (1, 1), ended.err
    assert "Sign in at https://example.com" in ended.err  # and not among the results
    assert (programs / "calls").read_text().splitlines().count("login") == 1
    listed = team("results", "list", "--json")
    assert [run["run_id"] for run in strict_json(listed.out)] == [file.parent.name]
    assert (programs / "calls").read_text().splitlines().count("login") == 1


def test_nobody_is_asked_in_ci(signing_in):
    team, programs = signing_in
    team.env = {**team.env, "TF_BUILD": "True"}
    ended, _ = team.run_suite()
    assert (ended.code, len(team.queued())) == (1, 1)
    assert "set AZURE_CLIENT_ID, AZURE_CLIENT_SECRET and AZURE_TENANT_ID" in ended.err
    assert "login" not in (programs / "calls").read_text().splitlines()
    assert team("results", "list").code == 2


def test_without_the_azure_cli_it_is_said_what_to_do(signing_in):
    team, programs = signing_in
    (programs / "az").unlink()
    ended = team("results", "list")
    assert (ended.code, "the Azure CLI is not installed: sign in with `az login`, or set AZURE_CLIENT_ID" in ended.err) == (
        2, True,
    ), ended.err  # fmt: skip


def test_credentials_are_tried_in_this_order():
    names = [type(one).__name__ for one in make_credential().credentials]
    ours = [
        "EnvironmentCredential", "ManagedIdentityCredential", "AzureCliCredential", "VisualStudioCodeCredential",
        "AzurePowerShellCredential",
    ]  # fmt: skip
    assert [name for name in names if name in ours] == ours
    assert names[0] == "EnvironmentCredential"


def test_the_connection_string_of_the_environment_is_that_of_the_account_or_not_used(monkeypatch):
    text = "DefaultEndpointsProtocol=https;AccountName=mine;AccountKey=a==;EndpointSuffix=core.windows.net"
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", text)
    assert (_connection_of("mine"), _connection_of(""), _connection_of("team")) == (text, text, "")
