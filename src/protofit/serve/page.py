"""The page's own files, read once; nothing else on the disk can be asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files

from fastapi import APIRouter, Response

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def page_files() -> dict[str, bytes]:
    """Path below / → content of every file of the page."""
    folder = files("protofit.serve") / "static"
    return {
        entry.name: entry.read_bytes()
        for entry in folder.iterdir()
        if _kind(entry.name) is not None
    }


def page_routes() -> APIRouter:
    """One route per file; `/` is the page."""
    router = APIRouter(include_in_schema=False)
    for name, content in page_files().items():
        path = "/" if name == "index.html" else f"/static/{name}"
        router.add_api_route(path, _sender(content, _kind(name)), methods=["GET"])
    return router


def _kind(name: str) -> str | None:
    return KINDS.get("." + name.rpartition(".")[2])


def _sender(content: bytes, kind: str | None) -> Callable[[], Response]:
    def send() -> Response:
        return Response(content, media_type=kind)

    return send
