"""What the wire adds to a request: a streamed answer of a server on this machine, through the relay and without it.

.venv/bin/python benchmarks/wire.py [REQUESTS]
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time

import aiohttp
from aiohttp import web

from waza.wire.relay import Upstream, WireRelay

BODY = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "x" * 25_000}]}
CHUNK = b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": "word "}}]}).encode() + b"\n\n"
CHUNKS = 40


async def answer(request: web.Request) -> web.StreamResponse:
    await request.read()
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    for _ in range(CHUNKS):
        await response.write(CHUNK)
    await response.write_eof()
    return response


async def median_ms(url: str, token: str, requests: int) -> float:
    took = []
    async with aiohttp.ClientSession(headers={"authorization": f"Bearer {token}"}) as client:
        for _ in range(requests):
            started = time.perf_counter()
            async with client.post(url, json=BODY) as got:
                await got.read()
            took.append((time.perf_counter() - started) * 1000)
    return statistics.median(took)


async def main(requests: int) -> None:
    app = web.Application(client_max_size=1 << 30)
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = "http://{}:{}/v1".format(*runner.addresses[0][:2])
    relay = WireRelay({"openai": Upstream(url=url)})
    await relay.start()
    session = await relay.open()
    bare = await median_ms(f"{url}/chat/completions", "", requests)
    wired = await median_ms(f"{session.address.openai}/chat/completions", session.address.token, requests)
    await relay.aclose()
    await runner.cleanup()
    print(
        f"{requests} requests of 25 kB, {CHUNKS} chunks each: without the wire {bare:.2f} ms, with it {wired:.2f} ms"
    )
    print(f"the wire adds {wired - bare:.2f} ms to a request; ratio {wired / bare:.1f}")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 300))
