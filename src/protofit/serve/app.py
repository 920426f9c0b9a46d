"""The application: routes of the API and of the page."""

import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Any

from fastapi import APIRouter, FastAPI

from protofit._version import __version__
from protofit.serve.batching import Batcher
from protofit.serve.desk import Desk
from protofit.serve.edits import edit_routes
from protofit.serve.guard import Guard
from protofit.serve.limits import Limits
from protofit.serve.page import page_routes
from protofit.serve.problems import handle_problems
from protofit.serve.routes import reading_routes

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def create_app(
    desk: Desk,
    limits: Limits | None = None,
    *,
    allow_edits: bool = False,
    hosts: Iterable[str] | None = LOOPBACK,
) -> FastAPI:
    """The API and the page over a model; `hosts` are the names it answers to (None: any)."""
    limits = limits or Limits()
    batcher = Batcher(desk.answer, limits)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with batcher.running():
            yield

    app = FastAPI(
        title="ProtoFit",
        version=__version__,
        summary="Predictions of one model, with their evidence.",
        lifespan=lifespan,
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    routes: list[APIRouter] = [reading_routes(desk, batcher, limits, allow_edits=allow_edits)]
    if allow_edits:
        routes.append(edit_routes(desk, batcher, limits))
    routes.append(page_routes())
    for router in routes:
        app.include_router(router)
    handle_problems(app)
    guard: Any = Guard
    app.add_middleware(guard, limits=limits, hosts=hosts)
    return app
