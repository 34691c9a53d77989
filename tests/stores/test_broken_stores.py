"""Stores that do not answer, answer late, refuse, or go away: nothing is lost, and it is said what to do."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stores.results import write_result
from tests.stores.test_results_command import FAILS, Team
from tests.support.live import Live
from tests.support.program import environment, strict_json, write_tree
from tests.support.stores import KEY, S3_KEYS, Azurite, Relay, azure_error, make_bucket, relay
from waza.errors import StoreError
from waza.model.loaded import Project, StorageKeys
from waza.stores.azure_blob import API_VERSION, AzureBlobStore
from waza.stores.base import StoreSetup
from waza.stores.stored_runs import StoredRuns
from waza.stores.upload import upload_files

LONG = f"{{inputs: {{prompt: '{'x' * 900_000}'}}, expected: {{output_contains: [bye]}}}}"


@pytest.fixture(params=["s3", "azure-blob"])
def far(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Team, Relay]]:
    """A project whose store is behind a relay."""
    if request.param == "s3":
        address = request.getfixturevalue("s3_address")
        bucket = make_bucket(address)
        with relay(address) as between:
            storage = f"{{provider: s3, bucket: {bucket}, endpoint: '{between.address}'}}"
            yield Team(tmp_path, storage, S3_KEYS), between
        return
    server = request.getfixturevalue("azure_server")
    container = server.make_container()
    with relay(server.address) as between:
        connection = Azurite(between.address).connection
        storage = f"{{provider: azure-blob, containerName: {container}, connectionString: '{connection}'}}"
        yield Team(tmp_path, storage, {}), between


def listed(team: Team) -> list[str]:
    return [run["run_id"] for run in strict_json(team("results", "list", "--json").out)]


def test_a_server_that_goes_away_in_mid_upload_gets_it_later(far):
    team, between = far
    puts = []
    whole = 1 if "azure" in (team.home / ".waza.yaml").read_text() else 0  # a bucket gets it in one piece

    def go_away(request, body):
        puts.append(len(body))
        return len(puts) > whole and between.cut(request, body)

    between.fault = go_away
    ended, file = team.run_suite(a=LONG, b=LONG)
    assert (ended.code, "warning: 1 result not uploaded" in ended.err) == (1, True), ended.err[-2000:]
    assert len(puts) > whole
    assert [one.read_bytes() for one in team.queued()] == [file.read_bytes()]
    between.fault = None
    assert listed(team) == []  # and nothing half of it
    pushed = team("results", "push")
    assert (pushed.code, team.queued(), listed(team)) == (0, [], [file.parent.name]), pushed.err
    team("results", "get", file.parent.name, "-o", "back.json")
    assert (team.home / "back.json").read_bytes() == file.read_bytes()


def test_a_lost_answer_is_no_failure(far):
    team, between = far
    lost: list[str] = []

    def lose(request, body):
        if request.command != "PUT" or lost:
            return False
        lost.append(request.path)
        between.hand_on(request, body)
        return between.cut(request, body)

    between.fault = lose
    ended, file = team.run_suite()
    assert (len(lost), ended.err.count("Uploaded"), team.queued()) == (1, 1, []), ended.err
    between.fault = None
    assert listed(team) == [file.parent.name]


def test_a_busy_server_is_asked_again(far):
    team, between = far
    refused: list[str] = []

    def refuse(request, body):
        if len(refused) == 2:
            return False
        refused.append(request.path)
        return azure_error(request, 503, "ServerBusy")

    between.fault = refuse
    ended, _ = team.run_suite()
    assert (len(refused), ended.err.count("Uploaded"), team.queued()) == (2, 1, []), ended.err


def test_interrupting_an_upload_keeps_it(far):
    team, between = far
    between.fault = between.hang
    suite = team.home / "eval.yaml"
    write_tree(
        team.home,
        {
            "eval.yaml": "{name: s, config: {executor: mock}, tasks: [t.yaml]}",
            "t.yaml": f"{{name: t, {FAILS[1:]}",
        },
    )
    live = Live("run", str(suite), cwd=team.home, logs=team.home, env=environment(team.env))
    try:
        live.until(lambda: between.requests)
        live.send(signal.SIGINT)
        ended = live.ended()
    finally:
        live.kill()
    assert ended.code == 1  # that of the run, which is complete
    assert "warning: results were not uploaded: interrupted; they are kept" in ended.err
    (kept,) = team.queued()
    (file,) = team.home.glob(".waza/runs/*/results.json")
    assert kept.read_bytes() == file.read_bytes()
    between.fault = None
    assert team("results", "push").code == 0
    assert listed(team) == [file.parent.name]


def test_a_server_that_hangs_is_not_waited_for(tmp_path):
    with relay("http://127.0.0.1:9") as between:
        between.fault = between.hang
        keys = StorageKeys(provider="azure-blob", connectionString=Azurite(between.address).connection)
        store = AzureBlobStore(StoreSetup(project=Project(directory=tmp_path), keys=keys))

        async def work():
            files = [write_result(tmp_path, "run-1"), write_result(tmp_path, "run-2")]
            try:
                return [one async for one in upload_files(StoredRuns(store, "azure-blob"), files, limit=0.2)]
            finally:
                await store.aclose()

        first, second = asyncio.run(work())
    assert (first.run, second.run) == (None, None)
    assert first.error == (
        "container waza-results of the storage account devstoreaccount1 did not take run-1.json within 0 seconds"
    )
    assert second.error == first.error  # it was not tried
    assert len(between.requests) == 1


@pytest.fixture
def azure(azure_server: Azurite, tmp_path: Path) -> Iterator[tuple[Team, Relay]]:
    container = azure_server.make_container()
    with relay(azure_server.address) as between:
        connection = Azurite(between.address).connection
        yield (
            Team(
                tmp_path,
                f"{{provider: azure-blob, containerName: {container}, connectionString: '{connection}'}}",
                {},
            ),
            between,
        )


def test_every_request_names_the_version_of_the_service(azure):
    team, between = azure
    _, file = team.run_suite(a=LONG, b=LONG)
    team("results", "push", file)  # in place of the first
    listed(team)
    team("results", "get", file.parent.name)
    assert {method for method, _, _ in between.requests} == {"PUT", "GET", "HEAD"}
    assert len(between.requests) > 6
    assert (
        {headers.get("x-ms-version") for _, _, headers in between.requests} == {API_VERSION} == {"2026-10-06"}
    )


def test_a_service_that_does_not_know_the_version_is_explained(azure):
    team, between = azure

    def refuse(request, body):
        return request.headers["x-ms-version"] == API_VERSION and azure_error(
            request, 400, "InvalidHeaderValue"
        )

    between.fault = refuse
    ended, _ = team.run_suite()
    assert ended.code == 1
    assert "answered 400 InvalidHeaderValue: the service does not take the version 2026-10-06" in ended.err
    assert len(team.queued()) == 1


@pytest.mark.parametrize(
    ("status", "code", "part"),
    [
        (403, "AuthorizationPermissionMismatch", "assign 'Storage Blob Data Contributor'"),
        (403, "AuthorizationFailure", "its network rules do not let this machine in"),
        (403, "KeyBasedAuthenticationNotPermitted", "the account takes no keys"),
        (403, "AuthenticationFailed", "the key in the connection string is not that of the account"),
        (404, "ContainerNotFound", "az storage container create --account-name devstoreaccount1 --name"),
        (409, "ContainerBeingDeleted", "answered 409 ContainerBeingDeleted"),
    ],
)
def test_refusals_say_what_to_do(tmp_path, status, code, part):
    async def work(store):
        try:
            return [one async for one in store.list("")]
        finally:
            await store.aclose()

    with relay("http://127.0.0.1:9") as between:
        between.fault = lambda request, body: azure_error(request, status, code)
        keys = StorageKeys(provider="azure-blob", connectionString=Azurite(between.address).connection)
        with pytest.raises(StoreError, match=f"answered {status} {code}") as caught:
            asyncio.run(work(AzureBlobStore(StoreSetup(project=Project(directory=tmp_path), keys=keys))))
    assert part in str(caught.value)


def test_a_missing_container_is_not_made(azure_server, tmp_path):
    team = Team(
        tmp_path, "{provider: azure-blob}", {"AZURE_STORAGE_CONNECTION_STRING": azure_server.connection}
    )
    ended, _ = team.run_suite()
    assert ended.code == 1
    assert "waza makes none; make it with `az storage container create" in ended.err
    assert "--name waza-results --auth-mode login`" in ended.err
    assert (team("results", "list").code, len(team.queued())) == (2, 1)


def test_a_wrong_key_is_said_and_not_shown(azure_server, tmp_path):
    wrong = "A" * 86 + "=="
    connection = azure_server.connection_of(wrong)
    container = azure_server.make_container()
    team = Team(
        tmp_path,
        f"{{provider: azure-blob, containerName: {container}, connectionString: '{connection}'}}",
        {},
    )
    ended, _ = team.run_suite()
    assert ended.code == 1
    assert "the key in the connection string is not that of the account" in ended.err
    assert wrong not in ended.err + ended.out
    team = Team(tmp_path, f"{{provider: azure-blob, connectionString: 'AccountKey={KEY}'}}", {})
    ended = team("results", "list")
    assert (ended.code, "the connection string cannot be used" in ended.err, KEY in ended.err) == (
        2,
        True,
        False,
    )


def test_a_missing_bucket_is_said(s3_address, tmp_path):
    team = Team(tmp_path, f"{{provider: s3, bucket: nobody-made-it, endpoint: '{s3_address}'}}", S3_KEYS)
    ended, _ = team.run_suite()
    assert (ended.code, "there is no bucket s3://nobody-made-it; make it" in ended.err) == (1, True), (
        ended.err
    )
    listing = team("results", "list")
    assert (listing.code, "there is no bucket s3://nobody-made-it" in listing.err) == (2, True), listing.err


def test_nobody_listens(tmp_path):
    team = Team(tmp_path, "{provider: s3, bucket: b, endpoint: 'http://127.0.0.1:9'}", S3_KEYS)
    listing = team("results", "list")
    assert (listing.code, "s3://b cannot be used" in listing.err) == (2, True), listing.err
