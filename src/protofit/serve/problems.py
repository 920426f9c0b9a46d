"""Failures as JSON: what was found, where, what to do."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import Request

from protofit.errors import InputError, ProtoFitError
from protofit.serve.answers import Problem
from protofit.serve.batching import BusyError

Responses = dict[int | str, dict[str, Any]]

FIXES = {
    400: "See /api/openapi.json.",
    404: "See /api/openapi.json.",
    405: "See /api/openapi.json.",
    413: "Send fewer or shorter texts.",
    415: "Send Content-Type: application/json.",
}
REASONS = {
    400: "The body is not JSON.",
    403: "The request comes from another site.",
    409: "The model has changed since, or does not allow the change.",
    413: "The body is too large.",
    415: "The body is not declared as JSON.",
    422: "The body is JSON but not what is asked for.",
    503: "Too many texts are waiting.",
}


class ConflictError(ProtoFitError):
    """A change that the model as it is does not allow."""


def problems(*codes: int) -> Responses:
    """Documentation of the refusals a route may give."""
    return {code: {"model": Problem, "description": REASONS[code]} for code in codes}


def handle_problems(app: FastAPI) -> None:
    """Give every failure the same shape."""
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(BusyError, _busy)
    app.add_exception_handler(ProtoFitError, _protofit)
    app.add_exception_handler(Exception, _broken)


def _say(status: int, found: str, where: str = "", fix: str = "", **headers: str) -> JSONResponse:
    return JSONResponse({"error": found, "where": where, "fix": fix}, status, headers or None)


async def _invalid(_: Request, error: Any) -> JSONResponse:
    """The first thing that is wrong; the body itself is not repeated."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        reason = str(first.get("ctx", {}).get("error", "it cannot be read"))
        return _say(422, f"the body is not JSON: {reason}", "body", "Send a JSON object.")
    where = ".".join(str(part) for part in first["loc"])
    return _say(422, str(first["msg"]), where, "See /api/openapi.json.")


async def _http(_: Request, error: Any) -> JSONResponse:
    fix = FIXES.get(error.status_code, "")
    return _say(error.status_code, str(error.detail), "", fix, **(error.headers or {}))


async def _busy(_: Request, error: Any) -> JSONResponse:
    return _say(503, error.found, "", error.fix, **{"Retry-After": "1"})


async def _protofit(_: Request, error: Any) -> JSONResponse:
    kinds = ((ConflictError, 409), (InputError, 422), (ProtoFitError, 500))
    status = next(code for kind, code in kinds if isinstance(error, kind))
    return _say(status, error.found, error.where, error.fix)


async def _broken(_: Request, __: Any) -> JSONResponse:
    return _say(500, "the server failed on this request", "", "Its terminal says why.")
