"""What the API accepts, as checked types; their schemas are the OpenAPI's."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Depends, HTTPException, Request
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    create_model,
)

from protofit.serve.limits import Limits

EXACT = 2**53  # integers up to here are the same in every JSON library


def _whole(value: Any) -> Any:
    """1.0 is an integer in JSON; "1" and true are not."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, Field(ge=-EXACT, le=EXACT, strict=True), BeforeValidator(_whole)]
Version = Annotated[int, Field(ge=0, le=EXACT, strict=True), BeforeValidator(_whole)]
Row = Annotated[int, Field(ge=0, le=2**31, strict=True), BeforeValidator(_whole)]
Number = Annotated[StrictFloat, Field(allow_inf_nan=False)]
Name = Annotated[str, Field(min_length=1, max_length=120, strict=True)]
Label = StrictBool | Whole | Number | Annotated[str, Field(max_length=1000, strict=True)]
ClassName = StrictBool | Whole | Name


def declared_json(request: Request) -> None:
    """Refuse what a form of another site can send: a browser asks first before it sends JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "the body is not declared as JSON")


JSON_BODY = [Depends(declared_json)]  # of every route that takes a body


class Question(BaseModel):
    """Base of the bodies: a field nobody knows is refused, not ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Rename(Question):
    """Call a prototype something that people understand."""

    action: Literal["rename"]
    row: Row
    name: Name


class Delete(Question):
    """Remove a prototype; the last one of a class stays."""

    action: Literal["delete"]
    row: Row


class Merge(Question):
    """Replace prototypes of one class by their mean."""

    action: Literal["merge"]
    rows: Annotated[list[Row], Field(min_length=2, max_length=1000)]


def item_type(limits: Limits, *, paired: bool) -> Any:
    """The body of a text, or of a pair of texts."""
    text = Annotated[str, Field(min_length=1, max_length=limits.text_chars, strict=True)]
    if not paired:
        return create_model("TextItem", __base__=Question, text=(text, ...))
    return create_model("PairItem", __base__=Question, text=(text, ...), pair=(text, ...))


def batch_type(item: Any, limits: Limits) -> Any:
    """The body of several texts or pairs."""
    items = Annotated[list[item], Field(min_length=1, max_length=limits.batch_items)]
    return create_model("Batch", __base__=Question, items=(items, ...))


def edit_types(item: Any, limits: Limits) -> Any:
    """Any of the edits, told apart by `action`."""
    items = Annotated[list[item], Field(min_length=1, max_length=limits.edit_items)]
    made: Any = create_model
    add = made(
        "Add", __base__=Question, __doc__="Make a prototype from texts.",
        action=(Literal["add"], ...), items=(items, ...), label=(Label, ...),
    )  # fmt: skip
    add_class = made(
        "AddClass", __base__=Question, __doc__="Make a new class from texts.",
        action=(Literal["add-class"], ...), items=(items, ...), name=(ClassName, ...),
    )  # fmt: skip
    return Annotated[Rename | Delete | Merge | add | add_class, Field(discriminator="action")]


def as_input(item: Any) -> Any:
    """The text, or the pair as a tuple."""
    return (item.text, item.pair) if hasattr(item, "pair") else item.text
