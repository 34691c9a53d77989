"""A judge as an endpoint of this machine, for custom judges, which ask a model behind HTTP by a client of their own."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Sequence
from typing import Any

from waza.m365.judges.judge_model import JudgeError, JudgeModel, Message

MODEL = "mock"
_LONGEST = 64 * 1024 * 1024  # bytes of a question


class Endpoint:
    """Answers chat completions with the replies of a judge; requests need its key."""

    def __init__(self, judge: JudgeModel) -> None:
        self._judge, self._key = judge, secrets.token_urlsafe(24)
        self._server: asyncio.Server | None = None

    async def start(self) -> dict[str, str]:
        """Listen on a free port; return the model configuration for custom judges."""
        if self._server is None:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        return {"base_url": f"http://127.0.0.1:{port}/v1", "model": MODEL, "api_key": self._key}

    async def aclose(self) -> None:
        """Stop listening."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
            await server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            status, answer = await self._answer(reader)
            body = json.dumps(answer).encode()
            head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client is gone, or does not use HTTP
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader) -> tuple[str, dict[str, Any]]:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in head[1:])
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > _LONGEST:
            return _error_answer("400 Bad Request", "this request has no length, or is too long")
        body = await reader.readexactly(int(length))
        if not secrets.compare_digest(headers.get("authorization", ""), f"Bearer {self._key}"):
            return _error_answer("401 Unauthorized", "this is not the key of this judge")
        try:
            reply = await self._judge.complete(_messages(json.loads(body)["messages"]))
        except JudgeError as error:
            return _error_answer("400 Bad Request", str(error))
        except (ValueError, LookupError, TypeError, AttributeError):
            return _error_answer("400 Bad Request", "this is not a chat completion")
        choice = {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": reply.text},
        }
        usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        return "200 OK", {
            "id": "mock",
            "object": "chat.completion",
            "created": 0,
            "model": MODEL,
            "choices": [choice],
            "usage": usage,
        }


def _error_answer(status: str, message: str) -> tuple[str, dict[str, Any]]:
    return status, {"error": {"message": message}}


def _messages(given: Sequence[Any]) -> list[Message]:
    return [Message(one["role"], _text(one["content"])) for one in given]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
