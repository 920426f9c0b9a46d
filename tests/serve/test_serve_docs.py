"""docs/serve.md: its requests are answered, its limits and figures are those that hold."""

from __future__ import annotations

import json
import re
import runpy
from dataclasses import fields
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra `serve`")
pytest.importorskip("httpx", reason="needs httpx")

from fastapi.testclient import TestClient

from helpers.fake_desk import FakeDesk
from helpers.places import BENCHMARKS, ROOT
from protofit.serve.app import create_app
from protofit.serve.limits import Limits

PAGE = (ROOT / "docs" / "serve.md").read_text(encoding="utf-8")
CURL = re.compile(r"\$ curl -s (http://\S+?)(/api/\S+)(?: -H '([^']+)' \\\n\s+-d '([^']+)')?\n")
LIMIT = re.compile(r"^\| `(\w+)` \| ([\d,]+) \|", re.MULTILINE)


def test_every_request_of_the_page_is_answered() -> None:
    asked = CURL.findall(PAGE)
    assert len(asked) == PAGE.count("$ curl")
    app = create_app(FakeDesk(), allow_edits=True)
    with TestClient(app, base_url=asked[0][0]) as client:
        for _, path, header, body in asked:
            if body:
                name, _, value = header.partition(": ")
                answer = client.post(path, content=body, headers={name: value})
            else:
                answer = client.get(path)
            assert answer.status_code == 200, (path, answer.text)
    described = set(app.openapi()["paths"])
    assert described == {path for _, path, _, _ in asked}


def test_the_limits_are_the_servers() -> None:
    told = {name: float(value.replace(",", "")) for name, value in LIMIT.findall(PAGE)}
    assert told == {each.name: getattr(Limits(), each.name) for each in fields(Limits)}


def test_the_figures_are_the_records() -> None:
    generator = runpy.run_path(str(BENCHMARKS / "server_load_page.py"))
    assert generator["filled"](PAGE) == PAGE, "run `python benchmarks/server_load_page.py`"
    record = json.loads(generator["RECORD"].read_text(encoding="utf-8"))
    record["rounds"] += 1
    assert generator["filled"](PAGE, record) != PAGE


def test_the_record_is_of_200_clients_who_were_answered_as_if_alone() -> None:
    record: Any = json.loads((BENCHMARKS / "records" / "server_load.json").read_text())
    assert record["clients"] == 200
    assert record["rounds"] >= 10
    for found in record["endpoints"].values():
        assert found["different"] == 0
        assert found["largest_gap"] < record["tolerance"] == 1e-4
        assert found["answers_compared"] >= record["rounds"] * record["requests_per_round"]
        low, high = found["ratios"]["processor time"]["interval95"]
        assert low <= found["ratios"]["processor time"]["ratio"] <= high
