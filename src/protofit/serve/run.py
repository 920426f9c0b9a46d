"""Bind, serve until Ctrl-C, leave quietly."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from typing import Any

import uvicorn

from protofit.errors import InputError

GRACE = 2  # seconds that open connections have to finish


def bind(host: str, port: int) -> socket.socket:
    """A bound socket (port 0: any that is free), or one sentence that says why not."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError) as error:
        raise InputError(
            f"{host!r} is no address of this machine", where="--host", fix="Try 127.0.0.1."
        ) from error
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(1024)
    except OSError as error:
        listener.close()
        raise _refused(error, host, port) from error
    return listener


def _refused(error: OSError, host: str, port: int) -> InputError:
    if error.errno == errno.EADDRINUSE:
        return InputError(
            f"port {port} is in use", where="--port", fix="Choose another, or 0 for any free one."
        )
    if error.errno == errno.EACCES:
        return InputError(
            f"port {port} is not open to this user", where="--port", fix="Choose one above 1023."
        )
    return InputError(
        f"cannot listen on {host}:{port} ({error.strerror})", where="--host", fix="Try 127.0.0.1."
    )


def url_of(listener: socket.socket) -> str:
    """The address to open."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def serve(app: Any, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until a signal ends it; Ctrl-C comes back as KeyboardInterrupt."""
    config = uvicorn.Config(
        app, log_level="error", access_log=False, lifespan="on", server_header=False,
        timeout_graceful_shutdown=GRACE,
    )  # fmt: skip
    ready()
    uvicorn.Server(config).run(sockets=[listener])
