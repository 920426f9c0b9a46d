"""Many clients of an HTTP server on loopback, in one event loop: a connection each, kept open."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

HOST = "127.0.0.1"
PATIENCE = 300.0  # seconds for one round


@dataclass(frozen=True)
class Answered:
    """One request: which text, how long it took, what came back."""

    text: int
    seconds: float
    status: int
    body: Any


async def storm(port: int, path: str, texts: Sequence[str], rounds: int) -> list[Answered]:
    """A client for each text; all ask at once, each `rounds` times, every time the next text."""
    start = asyncio.Event()
    connections = await asyncio.gather(*[asyncio.open_connection(HOST, port) for _ in texts])
    clients = [
        asyncio.create_task(_client(start, pair, path, texts, first, rounds))
        for first, pair in enumerate(connections)
    ]
    await asyncio.sleep(0)
    start.set()
    found = await asyncio.wait_for(asyncio.gather(*clients), PATIENCE)
    return [answer for each in found for answer in each]


async def one_by_one(port: int, path: str, texts: Sequence[str]) -> list[Answered]:
    """One client; a text is asked when the one before it is answered."""
    pair = await asyncio.open_connection(HOST, port)
    start = asyncio.Event()
    start.set()
    return await _client(start, pair, path, texts, 0, len(texts))


async def _client(
    start: asyncio.Event, pair: Any, path: str, texts: Sequence[str], first: int, rounds: int
) -> list[Answered]:
    reader, writer = pair
    found = []
    try:
        await start.wait()
        for step in range(rounds):
            text = (first + step) % len(texts)
            began = time.perf_counter()
            writer.write(_request(path, texts[text]))
            await writer.drain()
            status, body = await _response(reader)
            found.append(Answered(text, time.perf_counter() - began, status, json.loads(body)))
    finally:
        writer.close()
    return found


def _request(path: str, text: str) -> bytes:
    body = json.dumps({"text": text}).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _response(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    fields = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
    return int(head[0].split()[1]), await reader.readexactly(int(fields["content-length"]))
