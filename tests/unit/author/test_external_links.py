"""Asking for addresses: what counts as dead, and what is never asked for."""

from __future__ import annotations

import threading

import pytest
from tests.support.http_server import send, serving

from waza.author.check.external_links import MOST, check_addresses, is_public


def anybody(_address: str) -> bool:
    return True


@pytest.fixture
def server():
    with serving() as running:
        yield running


def answer(statuses, **headers):
    """Answer by path."""

    def get(request):
        status = statuses[request.path.strip("/").partition("?")[0]]
        place = headers.get("location", {}).get(request.path.strip("/"))
        send(request, b"", status, **({"Location": place} if place else {}))

    return get


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("127.0.0.1", False),
        ("10.0.0.1", False),
        ("172.16.3.4", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),  # noqa: S104  # nothing is bound
        ("224.0.0.1", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::7f00:1", False),
    ],
)
def test_what_is_public(address, public):
    assert is_public(address) is public


def test_statuses(server):
    server.get = server.head = answer({"ok": 200, "gone": 404, "broken": 500, "secret": 403, "no": 405})
    found = check_addresses(
        [f"{server.url}/{path}" for path in ("ok", "gone", "broken", "secret", "no", "ok")], allowed=anybody
    )
    assert {address.rpartition("/")[2]: reason for address, reason in found.items()} == {
        "gone": "the server answers with status 404",
        "broken": "the server answers with status 500",
        "secret": "the server answers with status 403",
        "no": "the server answers with status 405",
    }


def test_each_address_is_asked_for_by_head_first_and_once(server):
    server.get = answer({"ok": 200})
    server.head = lambda request: send(request, b"", 405)
    assert check_addresses([f"{server.url}/ok", f"{server.url}/ok"], allowed=anybody) == {}
    assert [(method, path) for method, path, _, _ in server.requests] == [("HEAD", "/ok"), ("GET", "/ok")]
    assert server.requests[0][2]["User-Agent"].startswith("waza-link-check/")


def test_redirects_are_followed_with_the_same_method(server):
    server.head = lambda request: send(
        request,
        b"",
        302 if request.path == "/a" else 200,
        **({"Location": "/b"} if request.path == "/a" else {}),
    )
    assert check_addresses([f"{server.url}/a"], allowed=anybody) == {}
    assert [(method, path) for method, path, _, _ in server.requests] == [("HEAD", "/a"), ("HEAD", "/b")]


def test_a_redirect_to_a_private_address_is_not_followed(server):
    port = server.url.rpartition(":")[2]
    server.head = lambda request: send(request, b"", 302, Location=f"http://127.0.0.2:{port}/inner")
    found = check_addresses([f"{server.url}/a"], allowed=lambda address: address == "127.0.0.1")
    assert list(found.values()) == [
        "127.0.0.2 is in a private network or this machine itself, which is not asked"
    ]
    assert [path for _, path, _, _ in server.requests] == ["/a"]


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("file:///etc/passwd", "its redirects lead to no page (status 302)"),
        ("ftp://127.0.0.1/x", "there is no usable answer: unknown url type: ftp"),
    ],
)
def test_a_redirect_to_what_is_no_web_address_is_not_followed(server, place, reason):
    server.head = server.get = lambda request: send(request, b"", 302, Location=place)
    assert list(check_addresses([f"{server.url}/a"], allowed=anybody).values()) == [reason]


def test_redirects_without_end(server):
    server.head = lambda request: send(request, b"", 302, Location=f"{request.path}x")
    server.get = server.head
    found = check_addresses([f"{server.url}/a"], allowed=anybody)
    assert list(found.values()) == ["its redirects lead to no page (status 302)"]
    assert len(server.requests) <= 11


def test_a_server_that_never_answers(server):
    ended = threading.Event()
    server.head = lambda _request: ended.wait(60)
    server.get = server.head
    try:
        assert check_addresses([f"{server.url}/a"], allowed=anybody, limit=0.2) == {
            f"{server.url}/a": "there is no answer in time"
        }
    finally:
        ended.set()


def test_a_server_that_answers_forever(server):
    """Each piece comes in time, the head of the answer never ends."""
    ended = threading.Event()

    def drip(request):
        while not ended.wait(0.02):
            try:
                request.wfile.write(b"HTTP/1.0 200 OK"[:1])
            except OSError:
                return

    server.head = server.get = drip
    try:
        assert check_addresses([f"{server.url}/a"], allowed=anybody, limit=0.3) == {
            f"{server.url}/a": "there is no answer in time"
        }
    finally:
        ended.set()


def test_nobody_listens_and_no_host():
    found = check_addresses(
        ["http://127.0.0.1:9/x", "http://nowhere.invalid/x", "http://[::x/"], allowed=anybody
    )
    assert found["http://127.0.0.1:9/x"].startswith("there is no connection: ")
    assert found["http://nowhere.invalid/x"] == "there is no such host, or no network"
    assert found["http://[::x/"].startswith("there is no usable answer: ")


def test_no_more_than_so_many_addresses_are_asked_for(server):
    server.head = lambda request: send(request, b"", 200)
    seen = []
    addresses = [f"{server.url}/{number}" for number in range(MOST + 2)]
    found = check_addresses(addresses, allowed=anybody, report=lambda done, of: seen.append((done, of)))
    assert list(found) == addresses[MOST:]
    assert set(found.values()) == {f"was not asked for, since there are more than {MOST} addresses"}
    assert seen[-1] == (MOST, MOST)
    assert len(server.requests) == MOST
