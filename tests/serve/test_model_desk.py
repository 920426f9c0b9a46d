"""The server over real models: same numbers as the estimator, edits saved and undone."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="needs the extra `serve`")
httpx = pytest.importorskip("httpx", reason="needs httpx")

from fastapi.testclient import TestClient

from helpers.quick import few_tickets
from helpers.served import CLASSES
from helpers.serving import served
from protofit import PFitClassifier, PFitRegressor
from protofit.model.bundle import Bundle
from protofit.serve.app import create_app
from protofit.serve.limits import Limits
from protofit.serve.model_desk import ModelDesk

Folder = Callable[[str], Path]
BASE = "http://127.0.0.1:8000"
TEXTS = few_tickets(10, CLASSES)[0]


def client_of(folder: Path, jury: Any = None, **named: Any) -> TestClient:
    desk = ModelDesk(Bundle.load(folder), folder, jury)
    return TestClient(create_app(desk, Limits(wait_ms=0), **named), base_url=BASE)


def body_of(text: Any) -> dict[str, str]:
    return {"text": text} if isinstance(text, str) else {"text": text[0], "pair": text[1]}


def test_predictions_are_the_estimators(model_folder: Folder) -> None:
    expected = PFitClassifier.load(model_folder("texts")).predict_proba(TEXTS)
    with client_of(model_folder("texts")) as client:
        single = [client.post("/api/predict", json=body_of(text)).json() for text in TEXTS]
        items = {"items": [body_of(text) for text in TEXTS]}
        batch = client.post("/api/batch", json=items).json()["results"]
    for found in (single, batch):
        chances = np.array([row["probabilities"] for row in found])
        np.testing.assert_allclose(chances, expected, atol=1e-5)
        assert [row["prediction"] for row in found] == [
            sorted(CLASSES)[i] for i in expected.argmax(axis=1)
        ]


def test_explanations_sum_to_their_prediction(model_folder: Folder) -> None:
    with client_of(model_folder("texts")) as client:
        for text in TEXTS[:6]:
            said = client.post("/api/explain", json=body_of(text)).json()
            total = sum(item["share"] for item in said["evidence"]) + said["rest_share"]
            assert total + said["base"] == pytest.approx(said["probability"], abs=1e-6)
            assert said["counter"]["target"] == said["runner_up"]
            assert 0 <= said["novelty"] <= 1


def test_cards_and_map_hold_every_prototype_and_text(model_folder: Folder) -> None:
    with client_of(model_folder("texts")) as client:
        cards = client.get("/api/prototypes").json()["prototypes"]
        atlas = client.get("/api/map").json()
        facts = client.get("/api/health").json()["facts"]
    assert len(cards) == facts["prototypes"]
    assert [point["text"] for point in atlas["points"]] == TEXTS
    assert {point["prototype"] for point in atlas["points"]} <= {card["row"] for card in cards}


def test_a_model_without_an_index_tells_no_training_text(model_folder: Folder) -> None:
    with client_of(model_folder("bare")) as client:
        said = client.post("/api/explain", json=body_of("a parcel")).json()
        everything = [said, *[client.get(f"/api/{name}").json() for name in ("map", "prototypes")]]
    assert said["evidence"]
    assert said["nearest"] == []
    assert not any(text in str(everything) for text in TEXTS)


def test_a_method_without_prototypes_still_predicts(model_folder: Folder) -> None:
    with client_of(model_folder("raw"), allow_edits=True) as client:
        said = client.post("/api/explain", json=body_of("a parcel")).json()
        assert said["evidence"] == []
        assert (said["position"], said["distance"], said["log_density"]) == (None, None, None)
        assert said["prediction"] in CLASSES
        assert client.get("/api/prototypes").json() == {"prototypes": []}
        edit = {"action": "delete", "row": 0}
        refused = client.post("/api/edits/try", json={"version": 0, "edit": edit})
        assert refused.status_code == 409
        assert "no prototypes" in refused.json()["error"]


def test_pairs(model_folder: Folder) -> None:
    pairs = list(zip(TEXTS, TEXTS[1:] + TEXTS[:1], strict=True))[:4]
    expected = PFitClassifier.load(model_folder("pairs")).predict_proba(pairs)
    with client_of(model_folder("pairs")) as client:
        found = [client.post("/api/explain", json=body_of(pair)).json() for pair in pairs]
    np.testing.assert_allclose([row["probabilities"] for row in found], expected, atol=1e-5)
    assert found[0]["text"] == list(pairs[0])


def test_numbers(model_folder: Folder) -> None:
    expected = PFitRegressor.load(model_folder("numbers")).predict(TEXTS[:4])
    with client_of(model_folder("numbers")) as client:
        found = [client.post("/api/explain", json=body_of(text)).json() for text in TEXTS[:4]]
        plain = client.post("/api/predict", json=body_of(TEXTS[0])).json()
    np.testing.assert_allclose([row["prediction"] for row in found], expected, atol=1e-4)
    assert plain["prediction"] == pytest.approx(expected[0], abs=1e-4)
    assert plain["probabilities"] == []


def test_very_long_texts_are_said_to_be_cut(model_folder: Folder) -> None:
    long = "parcel " * 500
    with client_of(model_folder("texts")) as client:
        items = {"items": [body_of("parcel"), body_of(long)]}
        found = client.post("/api/batch", json=items).json()["results"]
        assert [row["truncated"] for row in found] == [False, True]
        assert client.post("/api/explain", json=body_of(long)).json()["truncated"] is True


def test_two_hundred_at_once_get_what_one_by_one_gets(model_folder: Folder) -> None:
    folder = model_folder("texts")
    texts = [f"{TEXTS[i % len(TEXTS)]} number {i}" for i in range(200)]
    expected = PFitClassifier.load(folder).predict_proba(texts)
    desk = ModelDesk(Bundle.load(folder), folder)
    app = create_app(desk)

    async def storm(url: str) -> list[Any]:
        limits = httpx.Limits(max_connections=200)
        async with httpx.AsyncClient(base_url=url, limits=limits, timeout=60) as client:
            kinds = ("predict", "explain")
            asks = [
                client.post(f"/api/{kinds[i % 2]}", json=body_of(text))
                for i, text in enumerate(texts)
            ]
            return list(await asyncio.gather(*asks))

    with served(app) as url:
        answers = asyncio.run(storm(url))
        counts = httpx.get(f"{url}/api/health").json()["served"]
    assert [answer.status_code for answer in answers] == [200] * 200
    found = np.array([answer.json()["probabilities"] for answer in answers])
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert counts["texts"] == 200
    assert counts["passes"] < 100


@pytest.fixture
def editor(model_folder: Folder, tmp_path: Path) -> Any:
    """A client that may edit a copy of the model, and the copy."""
    folder = tmp_path / "model"
    shutil.copytree(model_folder("texts"), folder)
    jury = few_tickets(14, CLASSES)
    with client_of(folder, jury, allow_edits=True) as client:
        yield client, folder


def edit(client: TestClient, way: str, version: int, **fields: Any) -> Any:
    return client.post(f"/api/edits/{way}", json={"version": version, "edit": fields})


def test_trying_changes_nothing(editor: Any) -> None:
    client, folder = editor
    before = (folder / "model.safetensors").read_bytes()
    said = client.post("/api/predict", json=body_of(TEXTS[0])).json()
    row = client.get("/api/prototypes").json()["prototypes"][0]["row"]
    tries = [
        {"action": "rename", "row": row, "name": "a name"},
        {"action": "add", "items": [body_of("a parcel")], "label": "billing"},
        {"action": "add-class", "items": [body_of("a parcel")], "name": "parcels"},
    ]
    for fields in tries:
        effect = edit(client, "try", 0, **fields)
        assert effect.status_code == 200, effect.text
        assert effect.json()["before"]["examples"] == 42
    assert client.post("/api/predict", json=body_of(TEXTS[0])).json() == said
    assert (folder / "model.safetensors").read_bytes() == before
    assert client.get("/api/edits").json() == {"version": 0, "edits": []}


def test_a_kept_class_is_in_the_folder_and_undone_to_the_bit(editor: Any) -> None:
    client, folder = editor
    before = Bundle.load(folder).model.state_dict()
    items = [body_of("gift card code"), body_of("gift card balance")]
    kept = edit(client, "keep", 0, action="add-class", items=items, name="gifts")
    assert kept.status_code == 200, kept.text
    assert "gifts" in client.get("/api/health").json()["facts"]["classes"]
    assert client.post("/api/predict", json=items[0]).json()["prediction"] == "gifts"
    assert PFitClassifier.load(folder).predict(["gift card code"])[0] == "gifts"
    assert edit(client, "keep", 0, action="delete", row=0).status_code == 409
    assert client.post("/api/edits/undo", json={"version": 1}).status_code == 200
    after = Bundle.load(folder).model.state_dict()
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[name].numpy(), after[name].numpy()) for name in before)
    assert client.get("/api/health").json()["facts"]["version"] == 2


def test_a_folder_that_cannot_be_written_leaves_the_model_as_it_was(
    editor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from protofit.errors import StorageError

    client, _ = editor

    def full(*_: Any) -> None:
        raise StorageError("the disk is full", where="model", fix="Make room.")

    row = client.get("/api/prototypes").json()["prototypes"][0]["row"]
    with monkeypatch.context() as patch:
        patch.setattr(Bundle, "save", full)
        refused = edit(client, "keep", 0, action="rename", row=row, name="a name")
    assert refused.status_code == 500
    assert refused.json()["error"] == "the disk is full"
    assert client.get("/api/edits").json() == {"version": 0, "edits": []}
    assert client.get("/api/prototypes").json()["prototypes"][0]["name"] != "a name"
    edit(client, "keep", 0, action="rename", row=row, name="a name")
    monkeypatch.setattr(Bundle, "save", full)
    assert client.post("/api/edits/undo", json={"version": 1}).status_code == 500
    assert len(client.get("/api/edits").json()["edits"]) == 1
    assert client.get("/api/prototypes").json()["prototypes"][0]["name"] == "a name"


def test_what_a_command_wrote_meanwhile_is_not_overwritten(editor: Any) -> None:
    client, folder = editor
    row = client.get("/api/prototypes").json()["prototypes"][0]["row"]
    other = PFitClassifier.load(folder)
    other.prototypes.rename(row, "by the command")
    other.prototypes.save(folder)
    for way in ("try", "keep"):
        refused = edit(client, way, 0, action="rename", row=row, name="by the page")
        assert refused.status_code == 409
        assert "changed by something else" in refused.json()["error"]
        assert "Start the server again" in refused.json()["fix"]
    assert PFitClassifier.load(folder).prototypes[0].name == "by the command"
    assert client.get("/api/health").json()["facts"]["version"] == 0
