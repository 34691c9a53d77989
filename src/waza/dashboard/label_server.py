"""The HTTP server of `waza label`: the pages on which a rater labels answers, for a browser on this machine alone.

It is on 127.0.0.1, under an address that only who started it knows, and answers requests under this machine's names only. Pages
have no script, and their policy lets a browser run none.
"""

from __future__ import annotations

import hmac
import traceback
from collections.abc import Callable, Mapping
from urllib.parse import parse_qs

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from waza.author.assure.label_page import (
    STYLE,
    make_end_page,
    make_message_page,
    make_question_page,
    read_style,
)
from waza.author.assure.labels import Choice, Labelling
from waza.dashboard.requests import LONGEST_TARGET, RequestError, segments_of
from waza.dashboard.server import HEADERS, check_host
from waza.errors import WazaError

POLICY = "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
_LONGEST_BODY = 1000  # bytes
_DIGITS = 9  # of the number of a question
_TITLES: Mapping[int, str] = {404: "Nothing here", 405: "Not possible", 421: "Another address"}


class LabelServer:
    """The application. `report` takes what went wrong inside, as a text of several lines."""

    def __init__(self, labelling: Labelling, token: str, port: int, report: Callable[[str], None]) -> None:
        self.labelling, self.token, self.port, self.report = labelling, token, port, report
        self._style = read_style()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            response = await self._respond(request)
        except RequestError as error:
            response = _refuse(error.status, str(error))
        except WazaError as error:  # the labels file cannot be read or written
            self.report(f"Error: {error}")
            response = _refuse(500, f"The label was not kept: {error}")
        except ClientDisconnect:  # in the middle of a form: there is nobody to answer
            return
        except Exception:  # noqa: BLE001  # a defect of ours must not end the server, nor show its insides
            self.report(traceback.format_exc())
            response = _refuse(500, "This is a defect of waza; the terminal of `waza label` says more.")
        for name, value in {
            **HEADERS,
            "Content-Security-Policy": POLICY,
            "Cache-Control": "no-store",
        }.items():
            response.headers[name] = value
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        check_host(request, self.port)
        raw_path = request.scope.get("raw_path") or b"/"
        if len(raw_path) > LONGEST_TARGET:
            raise RequestError(414, "the address is too long")
        token, *rest = segments_of(raw_path)
        if len(rest) != 1 or not hmac.compare_digest(token.encode(), self.token.encode()):
            raise RequestError(404, "Open the address that `waza label` has printed, as a whole.")
        if rest == [STYLE] and request.method in ("GET", "HEAD"):
            return Response(self._style, media_type="text/css")
        if request.method == "POST":
            return await self._label(request, self._number(rest[0]))
        if request.method not in ("GET", "HEAD"):
            raise RequestError(405, "Only GET, HEAD and POST are served.")
        if rest == [""]:
            return self._next(-1)
        return HTMLResponse(make_question_page(self.labelling, self._number(rest[0])))

    def _number(self, text: str) -> int:
        """Return the number of a question. Raises RequestError for one that is not there."""
        if (
            text.isascii()
            and text.isdecimal()
            and len(text) <= _DIGITS
            and int(text) < len(self.labelling.questions)
        ):
            return int(text)
        raise RequestError(404, "There is no such question.")

    def _next(self, after: int) -> Response:
        """Lead to the first question without a label."""
        number = self.labelling.first_open(after)
        if number is None:
            return HTMLResponse(make_end_page(self.labelling))
        return RedirectResponse(f"/{self.token}/{number}", status_code=303)

    async def _label(self, request: Request, number: int) -> Response:
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > _LONGEST_BODY:
                raise RequestError(413, "The form is too long.")
        try:
            [text] = parse_qs(body.decode(), strict_parsing=True, max_num_fields=1)["label"]
            choice = msgspec.convert(text, Choice)
        except (ValueError, KeyError, msgspec.ValidationError):
            raise RequestError(400, "The form must have one label: pass, fail or unsure.") from None
        await run_in_threadpool(self.labelling.set, number, choice)
        if self.labelling.first_open(number) is None:
            return RedirectResponse(f"/{self.token}/", status_code=303)
        return self._next(number)


def _refuse(status: int, message: str) -> Response:
    return HTMLResponse(make_message_page(_TITLES.get(status, "Error"), message), status_code=status)
