"""From a request to the operation that it means, with its parameters decoded and checked."""

from __future__ import annotations

import typing
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

import msgspec

from waza.dashboard.routes import ROUTES, ApiRoute

LONGEST_TARGET = 16_384
"""Bytes of a path with its query; ids of tasks may be long."""


class RequestError(Exception):
    """A request that cannot be served. `status` is the HTTP status of the answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class ApiRequest(msgspec.Struct, frozen=True):
    """An operation, and the values of its parameters by name; None for those without one."""

    route: ApiRoute
    values: dict[str, Any]


def segments_of(raw_path: bytes) -> list[str]:
    """Return the segments of a path as it was sent, decoded. Raises RequestError for bytes that are not UTF-8."""
    try:
        return [unquote_to_bytes(one).decode() for one in raw_path.removeprefix(b"/").split(b"/")]
    except UnicodeDecodeError:
        raise RequestError(400, "the path is not UTF-8; encode it with encodeURIComponent") from None


def read_request(raw_path: bytes, query: bytes) -> ApiRequest:
    """Return what a request to the API means. Raises RequestError: 404 for no route, 400 for a bad parameter."""
    segments = segments_of(raw_path)
    for route in ROUTES:
        found = _match(route, segments)
        if found is not None:
            return ApiRequest(route, _values(route, found, query))
    raise RequestError(404, "there is no such route; /openapi.json has all of them")


def _match(route: ApiRoute, segments: list[str]) -> dict[str, str] | None:
    if len(route.segments) != len(segments):
        return None
    found = {}
    for pattern, segment in zip(route.segments, segments, strict=True):
        if pattern.startswith("{"):
            found[pattern[1:-1]] = segment
        elif pattern != segment:
            return None
    return found


def _values(route: ApiRoute, in_path: dict[str, str], query: bytes) -> dict[str, Any]:
    try:
        given = dict(parse_qsl(query.decode(), keep_blank_values=True, errors="strict", max_num_fields=50))
    except ValueError:  # UnicodeDecodeError is one
        raise RequestError(400, "the query is not UTF-8, or has too many parameters") from None
    values: dict[str, Any] = {}
    for one in route.parameters:
        text = in_path.get(one.name, given.get(one.name))
        if text is None or text == "":
            if one.needed:
                raise RequestError(400, f"{one.name!r} is missing")
            values[one.name] = one.default
            continue
        values[one.name] = _convert(one.name, text, one.kind)
    return values


def _convert(name: str, text: str, kind: Any) -> Any:
    if kind is str:
        return text
    wanted = f"{name!r} is {text[:60]!r}"
    if typing.get_origin(kind) is typing.Literal:
        if text in typing.get_args(kind):
            return text
        raise RequestError(400, f"{wanted}; it must be one of {', '.join(typing.get_args(kind))}")
    try:
        return msgspec.convert(text, kind, strict=False)
    except msgspec.ValidationError as error:
        raise RequestError(400, f"{wanted}: {error}") from None
