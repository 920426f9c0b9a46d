"""Requests made from the OpenAPI: every answer is one that it promises."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra `serve`")
schemathesis = pytest.importorskip("schemathesis", reason="needs schemathesis")

from hypothesis import HealthCheck, Phase, given, settings

from helpers.fake_desk import FakeDesk
from protofit.serve.app import create_app
from protofit.serve.limits import Limits

HOST = {"host": "127.0.0.1:8000"}
BOUNDED = settings(
    max_examples=25,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
fake = schemathesis.openapi.from_asgi(
    "/api/openapi.json",
    create_app(FakeDesk(), Limits(wait_ms=0), allow_edits=True, hosts=None),
)


@fake.parametrize()
@BOUNDED
def test_every_answer_is_promised(case: Any) -> None:
    """Of the fake desk: bodies that fit the schema and bodies that do not."""
    case.call_and_validate()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["texts", "pairs", "numbers", "raw"])
def test_every_answer_of_a_real_model_is_promised(
    model_folder: Callable[[str], Path], tmp_path: Path, kind: str
) -> None:
    """Of a small model that may be edited, with many more requests for each operation."""
    from protofit.model.bundle import Bundle
    from protofit.serve.model_desk import ModelDesk

    folder = shutil.copytree(model_folder(kind), tmp_path / "model")
    desk = ModelDesk(Bundle.load(folder), folder)
    app = create_app(desk, Limits(wait_ms=0), allow_edits=True, hosts=None)
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", app)
    seen: set[str] = set()
    tried = 0
    for result in schema.get_all_operations():
        operation = result.ok()
        seen.add(operation.label)

        def check(case: Any) -> None:
            nonlocal tried
            tried += 1
            case.call_and_validate()

        settings(BOUNDED, max_examples=100)(given(case=operation.as_strategy())(check))()
    assert {"POST /api/explain", "POST /api/edits/keep"} <= seen
    assert tried > 300
