"""The routes that change the model: try an edit, keep it, undo the last one."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException
from fastapi.responses import JSONResponse
from pydantic import Field, create_model

from protofit.errors import InputError
from protofit.explain.plain import Plain
from protofit.explain.results import Effect
from protofit.serve.answers import History, Kept
from protofit.serve.batching import Batcher
from protofit.serve.desk import Desk
from protofit.serve.limits import Limits
from protofit.serve.problems import ConflictError, problems
from protofit.serve.questions import JSON_BODY, Question, Version, edit_types, item_type
from protofit.serve.routes import said

EDIT_PROBLEMS = problems(400, 403, 409, 413, 415, 422)


class Undo(Question):
    """Take back the last edit."""

    version: Annotated[Version, Field(description="The version it is based on.")]


def edit_routes(desk: Desk, batcher: Batcher, limits: Limits) -> APIRouter:
    """Routes under /api/edits; `version` in a body keeps two people from editing at once."""
    router = APIRouter(prefix="/api/edits")
    edit: Any = edit_types(item_type(limits, paired=desk.paired), limits)
    body_type: Any = create_model("EditBody", __base__=Undo, __doc__="An edit.", edit=(edit, ...))

    def current(version: int) -> None:
        now = desk.history().version
        if version != now:
            raise HTTPException(409, f"the model is at version {now}, not {version}: load it again")

    async def changed(version: int, work: Callable[..., Plain], *given: Any) -> JSONResponse:
        """The work on the model's thread; 409 where the model as it is does not allow it."""

        def at_once() -> Plain:
            current(version)
            return work(*given)

        try:
            return said(await batcher.call(at_once))
        except InputError as error:
            raise ConflictError(error.found, where=error.where, fix=error.fix) from error

    @router.post("/try", response_model=Effect, responses=EDIT_PROBLEMS, dependencies=JSON_BODY)
    async def try_edit(body: body_type) -> JSONResponse:
        """What the edit would do to the evaluation set; nothing is changed."""
        return await changed(body.version, desk.try_edit, body.edit)

    @router.post("/keep", response_model=Kept, responses=EDIT_PROBLEMS, dependencies=JSON_BODY)
    async def keep_edit(body: body_type) -> JSONResponse:
        """Apply the edit and save it as a new version of the model."""
        return await changed(body.version, desk.keep_edit, body.edit)

    @router.post("/undo", response_model=Kept, responses=EDIT_PROBLEMS, dependencies=JSON_BODY)
    async def undo(body: Undo) -> JSONResponse:
        """Take back the last edit that was kept."""
        return await changed(body.version, desk.undo)

    @router.get("", response_model=History)
    async def history() -> JSONResponse:
        """The edits that were kept, oldest first."""
        return said(await batcher.call(desk.history))

    return router
