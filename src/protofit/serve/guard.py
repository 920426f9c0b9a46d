"""What every request must satisfy before it is read, and what every response tells a browser."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from protofit.serve.limits import Limits

CHANGING = ("POST", "PUT", "PATCH", "DELETE")
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
Messages = list[dict[str, Any]]


class Refusal(Exception):  # noqa: N818 - an answer, not a failure
    """A request that is answered without being read."""

    def __init__(self, status: int, found: str, fix: str) -> None:
        self.status = status
        self.body = json.dumps({"error": found, "where": "", "fix": fix}).encode()
        super().__init__(found)


class Guard:
    """Wraps the application: host, origin and size of a request; headers of a response.

    `hosts` are the names under which the server may be called (None: any), so that a page whose
    name was pointed at this machine cannot read from it.
    """

    def __init__(self, app: Any, limits: Limits, hosts: Iterable[str] | None = None) -> None:
        self.app = app
        self.limits = limits
        self.hosts = None if hosts is None else {host.lower() for host in hosts}

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """One ASGI call."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            self._check(scope)
            messages = await self._body(scope, receive)
        except Refusal as refusal:
            await _refuse(refusal, _with_headers(send))
            return
        await self.app(scope, _replay(messages, receive), _with_headers(send))

    def _check(self, scope: dict[str, Any]) -> None:
        headers = _headers(scope)
        host = headers.get("host", "")
        if self.hosts is not None and _name_of(host) not in self.hosts:
            raise Refusal(421, "this server is not called so", "Use the address it printed.")
        if scope["method"] not in CHANGING:
            return
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"{scope['scheme']}://{host}".lower():
            raise Refusal(403, "the request comes from another site", "Open the page itself.")
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise Refusal(403, "the request comes from another site", "Open the page itself.")

    async def _body(self, scope: dict[str, Any], receive: Any) -> Messages:
        """The messages of the body, read whole, none past the limit."""
        if scope["method"] not in CHANGING:
            return []
        declared = _headers(scope).get("content-length", "")
        read = int(declared) if declared.isdecimal() else 0
        messages: Messages = []
        more = read <= self.limits.body_bytes
        read = read if not more else 0
        while more:
            message = await receive()
            messages.append(message)
            read += len(message.get("body", b""))
            more = message.get("more_body", False) and read <= self.limits.body_bytes
        if read > self.limits.body_bytes:
            raise Refusal(
                413,
                f"the body is larger than {self.limits.body_bytes} bytes",
                "Send fewer or shorter texts.",
            )
        return messages


def _headers(scope: dict[str, Any]) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def _name_of(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _replay(messages: Messages, receive: Any) -> Any:
    waiting = iter(messages)

    async def again() -> Any:
        for message in waiting:
            return message
        return await receive()

    return again


def _with_headers(send: Any) -> Any:
    async def sending(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message.get("headers", [])}
            extra = [
                (name.encode(), value.encode())
                for name, value in HEADERS.items()
                if name.encode() not in present
            ]
            message = {**message, "headers": [*message.get("headers", []), *extra]}
        await send(message)

    return sending


async def _refuse(refusal: Refusal, send: Any) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(refusal.body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": refusal.body})
