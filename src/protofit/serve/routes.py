"""The routes that read: predict, explain, batch, prototypes, map, health."""

from typing import Any

from fastapi import APIRouter, HTTPException
from fastapi.responses import JSONResponse

from protofit._version import __version__
from protofit.explain.plain import Plain
from protofit.explain.results import Explanation
from protofit.serve.answers import Atlas, Cards, Health, Prediction, Predictions
from protofit.serve.batching import Ask, Batcher
from protofit.serve.desk import Desk
from protofit.serve.limits import Limits
from protofit.serve.problems import problems
from protofit.serve.questions import JSON_BODY, as_input, batch_type, item_type

BODY_PROBLEMS = problems(400, 403, 413, 415, 422, 503)


def said(result: Plain) -> JSONResponse:
    """A result as JSON: no NaN, no array."""
    return JSONResponse(result.to_dict())


def reading_routes(desk: Desk, batcher: Batcher, limits: Limits, *, allow_edits: bool) -> APIRouter:
    """Routes that change nothing."""
    router = APIRouter(prefix="/api")
    item: Any = item_type(limits, paired=desk.paired)
    batch: Any = batch_type(item, limits)

    @router.post(
        "/predict", response_model=Prediction, responses=BODY_PROBLEMS, dependencies=JSON_BODY
    )
    async def predict(body: item) -> JSONResponse:
        """The label of a text with the probabilities of all classes."""
        (found,) = await batcher.ask(Ask("predict", [as_input(body)]))
        return said(Prediction(**vars(found), classes=desk.facts().classes))

    @router.post(
        "/explain", response_model=Explanation, responses=BODY_PROBLEMS, dependencies=JSON_BODY
    )
    async def explain(body: item) -> JSONResponse:
        """The prediction, the prototypes that carried it, novelty and place on the map."""
        (found,) = await batcher.ask(Ask("explain", [as_input(body)]))
        return said(found)

    @router.post(
        "/batch", response_model=Predictions, responses=BODY_PROBLEMS, dependencies=JSON_BODY
    )
    async def batched(body: batch) -> JSONResponse:
        """The predictions of several texts."""
        inputs = [as_input(each) for each in body.items]
        chars = sum(len(part) for each in inputs for part in _parts(each))
        if chars > limits.batch_chars:
            raise HTTPException(413, f"{chars} characters; {limits.batch_chars} are allowed")
        found = await batcher.ask(Ask("predict", inputs))
        return said(Predictions(classes=desk.facts().classes, results=found))

    @router.get("/prototypes", response_model=Cards)
    async def prototypes() -> JSONResponse:
        """Every prototype: its class, its nearest training texts, its place on the map."""
        return said(Cards(await batcher.call(desk.prototypes)))

    @router.get("/map", response_model=Atlas)
    async def atlas() -> JSONResponse:
        """The training texts on the map, where the model keeps an index of them."""
        return said(await batcher.call(desk.atlas))

    @router.get("/health", response_model=Health)
    async def health() -> JSONResponse:
        """What is served, its limits, and how much it has answered."""
        served = {**vars(batcher.counts), "queued": batcher.queued}
        facts = desk.facts()  # at once, whatever the model is busy with
        return said(Health("ok", __version__, allow_edits, vars(limits), served, facts))

    return router


def _parts(each: Any) -> tuple[str, ...]:
    return (each,) if isinstance(each, str) else each
