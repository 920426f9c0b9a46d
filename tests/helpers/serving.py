"""A served application on a free port of this machine, in a thread or as the command."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from helpers.command import spawn


@contextlib.contextmanager
def served(app: Any) -> Iterator[str]:
    """The address of an application that is served in a thread until the block ends."""
    import uvicorn

    from protofit.serve.run import bind, url_of

    listener = bind("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        wait_for(url_of(listener))
        yield url_of(listener)
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()


@contextlib.contextmanager
def serving(model: Path, *more: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address and process of `protofit serve` on a free port."""
    port = free_port()
    process = spawn(["serve", str(model), "--port", str(port), *more])
    try:
        wait_for(f"http://127.0.0.1:{port}", process)
        yield f"http://127.0.0.1:{port}", process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(10)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def wait_for(url: str, process: subprocess.Popen[str] | None = None, seconds: float = 90) -> None:
    """Return once the server answers."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            urllib.request.urlopen(f"{url}/api/health", timeout=5).close()
            return
        if process is not None and process.poll() is not None:
            raise AssertionError(process.stderr.read() if process.stderr else "it ended")
        time.sleep(0.1)
    raise AssertionError(f"{url} does not answer")


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
