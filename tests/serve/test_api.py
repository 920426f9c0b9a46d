"""The API over a fake desk: bodies, refusals, headers, edits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra `serve`")
pytest.importorskip("httpx", reason="needs httpx")

from fastapi.testclient import TestClient

from helpers.fake_desk import CLASSES, FakeDesk, chances_of, label_of
from protofit.serve.app import create_app
from protofit.serve.limits import Limits

BASE = "http://127.0.0.1:8000"
SMALL = Limits(text_chars=50, batch_items=4, batch_chars=60, body_bytes=2000, wait_ms=0)
EDIT = {"version": 0, "edit": {"action": "rename", "row": 0, "name": "invoices"}}
JSON = {"content-type": "application/json"}


def client_of(desk: FakeDesk | None = None, limits: Limits = SMALL, **named: Any) -> TestClient:
    app = create_app(desk or FakeDesk(), limits, **named)
    return TestClient(app, base_url=BASE, raise_server_exceptions=False)


@pytest.fixture
def client() -> Iterator[TestClient]:
    with client_of() as client:
        yield client


@pytest.fixture
def editor() -> Iterator[TestClient]:
    with client_of(allow_edits=True) as client:
        yield client


def reason(answer: Any, status: int) -> str:
    """The reason of a refusal, which is always one JSON object of three texts."""
    assert answer.status_code == status, answer.text
    said = answer.json()
    assert set(said) == {"error", "where", "fix"}
    assert said["error"]
    return f"{said['where']}: {said['error']} {said['fix']}"


def test_predict(client: TestClient) -> None:
    said = client.post("/api/predict", json={"text": "abc"}).json()
    assert said["prediction"] == label_of("abc")
    assert said["classes"] == CLASSES
    assert said["probabilities"] == chances_of("abc")


def test_explain(client: TestClient) -> None:
    said = client.post("/api/explain", json={"text": "abc"}).json()
    assert len(said["evidence"]) == 3
    assert said["counter"]["label"] == "delivery"
    assert said["position"] == [0.1, 0.2]


def test_batch_keeps_the_order(client: TestClient) -> None:
    texts = ["a", "bb", "ccc", "dddd"]
    said = client.post("/api/batch", json={"items": [{"text": text} for text in texts]}).json()
    assert [row["prediction"] for row in said["results"]] == [label_of(text) for text in texts]


def test_prototypes_map_and_health(client: TestClient) -> None:
    assert len(client.get("/api/prototypes").json()["prototypes"]) == 4
    assert client.get("/api/map").json()["points"][0]["text"] == "an invoice"
    health = client.get("/api/health").json()
    assert health["status"] == "ok"
    assert health["edits"] is False
    assert health["limits"]["text_chars"] == 50


def test_pairs_are_asked_for_where_the_model_reads_pairs() -> None:
    with client_of(FakeDesk(paired=True)) as client:
        assert client.post("/api/predict", json={"text": "a", "pair": "b"}).status_code == 200
        assert "pair" in reason(client.post("/api/predict", json={"text": "a"}), 422)


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ("{", "not JSON"),
        ("", "body"),
        ("null", "body"),
        ("[]", "body"),
        ('{"text": 3}', "body.text"),
        ('{"text": NaN}', "body.text"),
        ('{"text": ""}', "body.text"),
        ('{"text": "\\ud800"}', "body.text"),
        ('{"text": "a", "pair": "b"}', "body.pair"),
        ('{"text": "' + "x" * 51 + '"}', "50"),
        ("[" * 900, "body"),
        ("\xff".encode("latin-1"), "body"),
    ],
)
def test_malformed_bodies_get_a_reason(client: TestClient, body: Any, part: str) -> None:
    answer = client.post("/api/predict", content=body, headers=JSON)
    assert answer.status_code in (400, 422)
    assert part in reason(answer, answer.status_code)


def test_too_many_items(client: TestClient) -> None:
    reason(client.post("/api/batch", json={"items": [{"text": "a"}] * 5}), 422)
    reason(client.post("/api/batch", json={"items": []}), 422)


def test_too_many_characters(client: TestClient) -> None:
    answer = client.post("/api/batch", json={"items": [{"text": "x" * 40}] * 2})
    assert "80 characters" in reason(answer, 413)


def test_large_bodies_are_refused_declared_or_not(client: TestClient) -> None:
    content = json.dumps({"text": "x" * 3000}).encode()
    assert "2000 bytes" in reason(client.post("/api/predict", content=content, headers=JSON), 413)
    streamed = client.post("/api/predict", content=iter([content[:1500], content[1500:]]),
                           headers=JSON)  # fmt: skip
    assert "2000 bytes" in reason(streamed, 413)


def test_other_kinds_of_body_are_refused(client: TestClient) -> None:
    """What a form of another site can send without asking first."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = client.post("/api/predict", content="{}", headers={"content-type": kind})
        reason(answer, 415)


def test_names_that_are_not_ours_are_refused(client: TestClient) -> None:
    """A page elsewhere whose name was pointed at this machine."""
    reason(client.get("/api/health", headers={"host": "evil.example:8000"}), 421)
    assert client.get("/api/health", headers={"host": "localhost:8000"}).status_code == 200
    assert client.get("/api/health", headers={"host": "[::1]:8000"}).status_code == 200


def test_unknown_paths_and_methods(client: TestClient) -> None:
    reason(client.get("/api/nothing"), 404)
    reason(client.get("/api/predict"), 405)
    reason(client.get("/static/..%2fapp.py"), 404)


def test_every_response_carries_the_headers(client: TestClient) -> None:
    for answer in (client.get("/"), client.get("/api/health"), client.get("/nothing"),
                   client.post("/api/predict", content="x")):  # fmt: skip
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")


def test_a_failure_of_ours_says_nothing_of_the_inside(client: TestClient) -> None:
    said = reason(client.post("/api/predict", json={"text": "fail"}), 500)
    assert "fake" not in said


def test_edits_are_off_unless_allowed(client: TestClient) -> None:
    assert client.post("/api/edits/keep", json=EDIT).status_code == 404
    assert "/api/edits/keep" not in client.get("/api/openapi.json").json()["paths"]


def test_an_edit_is_tried_kept_and_undone(editor: TestClient) -> None:
    tried = editor.post("/api/edits/try", json=EDIT).json()
    assert tried["before"] != tried["after"]
    assert editor.get("/api/edits").json() == {"version": 0, "edits": []}
    assert editor.post("/api/edits/keep", json=EDIT).json()["version"] == 1
    assert editor.get("/api/health").json()["facts"]["version"] == 1
    assert editor.post("/api/edits/undo", json={"version": 1}).json()["version"] == 0
    reason(editor.post("/api/edits/undo", json={"version": 0}), 409)


def test_an_edit_of_an_older_version_is_refused(editor: TestClient) -> None:
    editor.post("/api/edits/keep", json=EDIT)
    assert "version 1" in reason(editor.post("/api/edits/keep", json=EDIT), 409)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "https://127.0.0.1:8000"},
        {"origin": "http://127.0.0.1:9000"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_edits_from_other_sites_are_refused(editor: TestClient, headers: dict[str, str]) -> None:
    reason(editor.post("/api/edits/keep", json=EDIT, headers=headers), 403)
    assert editor.get("/api/edits").json()["version"] == 0


def test_edits_from_the_page_are_not(editor: TestClient) -> None:
    headers = {"origin": BASE, "sec-fetch-site": "same-origin"}
    assert editor.post("/api/edits/keep", json=EDIT, headers=headers).status_code == 200


def test_whole_numbers_may_be_written_with_a_point(editor: TestClient) -> None:
    edit = {"action": "rename", "row": 0.0, "name": "invoices"}
    body = {"version": 0.0, "edit": edit}
    assert editor.post("/api/edits/try", json=body).status_code == 200
    reason(editor.post("/api/edits/try", json={**body, "version": True}), 422)
    reason(editor.post("/api/edits/try", json={**body, "version": "0"}), 422)


def test_a_target_may_be_a_number(editor: TestClient) -> None:
    edit = {"action": "add", "items": [{"text": "a"}], "label": 0.5}
    assert editor.post("/api/edits/try", json={"version": 0, "edit": edit}).status_code == 200


@pytest.mark.parametrize(
    "edit",
    [
        {"action": "explode"},
        {"action": "rename", "row": -1, "name": "a"},
        {"action": "rename", "row": 0, "name": ""},
        {"action": "merge", "rows": [1]},
        {"action": "add", "items": [], "label": "billing"},
        {"action": "add-class", "items": [{"text": "a"}]},
        {"action": "delete", "row": 1.5},
    ],
)
def test_edits_that_make_no_sense(editor: TestClient, edit: dict[str, Any]) -> None:
    reason(editor.post("/api/edits/try", json={"version": 0, "edit": edit}), 422)
