"""What only a real connection shows: early refusals, broken requests, health while it works."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra `serve`")
httpx = pytest.importorskip("httpx", reason="needs httpx")

from helpers.fake_desk import FakeDesk
from helpers.serving import served
from protofit.serve.app import create_app
from protofit.serve.limits import Limits

LIMITS = Limits(body_bytes=5000, batch_items=3, wait_ms=0)
HEAD = "POST /api/predict HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(create_app(FakeDesk(slow=0.8), LIMITS)) as url:
        yield url


def said(url: str, *parts: str, wait: float = 0.0) -> tuple[int, bytes]:
    """What a server answers to bytes that are sent as they are."""
    port = int(url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        for part in parts:
            connection.sendall(part.replace("{port}", str(port)).encode())
            time.sleep(wait)
        answer = b""
        while b"\r\n\r\n" not in answer or not answer.endswith((b"}", b".")):
            got = connection.recv(65536)
            if not got:
                break
            answer += got
    return int(answer.split()[1]), answer.partition(b"\r\n\r\n")[2]


def test_a_body_that_is_declared_too_large_is_refused_before_it_is_sent(url: str) -> None:
    status, body = said(url, f"{HEAD}Content-Length: 1000000000\r\n\r\n")
    assert status == 413
    assert json.loads(body)["error"] == "the body is larger than 5000 bytes"


def test_a_body_without_a_declared_size_is_cut_off(url: str) -> None:
    chunk = "800\r\n" + "x" * 0x800 + "\r\n"  # two kilobytes, for ever
    status, body = said(url, f"{HEAD}Transfer-Encoding: chunked\r\n\r\n", *[chunk] * 4)
    assert status == 413
    assert "5000 bytes" in json.loads(body)["error"]


def test_what_is_no_http_is_refused(url: str) -> None:
    status, _ = said(url, "what is this\r\n\r\n")
    assert status == 400


def test_a_body_that_ends_too_early_leaves_the_server_well(url: str) -> None:
    port = int(url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        head = HEAD.replace("{port}", str(port)) + 'Content-Length: 100\r\n\r\n{"text": '
        connection.sendall(head.encode())
    assert httpx.post(f"{url}/api/predict", json={"text": "a"}).status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "part"),
    [
        (b'{"items": [{"text": "a"}', 422, "not JSON"),
        (json.dumps({"items": [{"text": "a"}] * 4}).encode(), 422, "3 items"),
        (b"\xff\xff", 400, "parsing the body"),
        (b"[" * 4000, 400, "parsing the body"),
    ],
)
def test_malformed_batches_have_a_reason(url: str, body: bytes, status: int, part: str) -> None:
    headers = {"content-type": "application/json"}
    answer = httpx.post(f"{url}/api/batch", content=body, headers=headers)
    assert answer.status_code == status, answer.text
    assert part in answer.json()["error"]


def test_health_answers_while_the_model_works(url: str) -> None:
    answers: list[Any] = []

    def ask() -> None:
        answers.append(httpx.post(f"{url}/api/predict", json={"text": "abc"}))

    asking = threading.Thread(target=ask)
    asking.start()
    time.sleep(0.2)  # it is being answered
    health = httpx.get(f"{url}/api/health").json()
    assert answers == []
    asking.join(10)
    assert health["status"] == "ok"
    assert health["served"]["passes"] >= 1
    assert answers[0].status_code == 200
