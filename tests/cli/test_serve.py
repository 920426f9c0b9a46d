"""`protofit serve`: where it listens, what it refuses, how it ends."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from helpers.command import Command, refusal, write_jsonl
from helpers.fresh import run_fresh
from helpers.serving import free_port, serving

MISSING = """
import importlib.util, json, sys
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "fastapi" else found(name, *more)
from protofit.cli.main import run
print(json.dumps(run(["serve", "nowhere"])))
"""
HELP = """
import json, sys
from protofit.cli.main import run
code = run(["serve", "--help"])
print(json.dumps([code, [name for name in ("fastapi", "uvicorn", "torch") if name in sys.modules]]))
"""


@pytest.fixture
def taken() -> Any:
    """A port that somebody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_missing_extra_is_one_sentence(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_fresh(MISSING) == 2


def test_help_imports_nothing_heavy() -> None:
    assert run_fresh(HELP) == [0, []]


@pytest.fixture
def extra() -> None:
    pytest.importorskip("fastapi", reason="needs the extra `serve`")
    pytest.importorskip("uvicorn", reason="needs the extra `serve`")


@pytest.mark.usefixtures("extra")
class TestServe:
    def test_a_port_in_use(self, command: Command, model: Path, taken: int) -> None:
        refusal(command("serve", model, "--port", taken), f"port {taken} is in use", "--port")

    def test_a_host_that_is_none(self, command: Command, model: Path) -> None:
        refusal(command("serve", model, "--host", "no such host"), "--host", "127.0.0.1")

    def test_a_host_of_another_machine(self, command: Command, model: Path) -> None:
        result = command("serve", model, "--host", "192.0.2.1", "--port", free_port())
        refusal(result, "--host", "192.0.2.1")

    def test_a_port_out_of_range(self, command: Command, model: Path) -> None:
        refusal(command("serve", model, "--port", 70000), "--port", "65535")

    def test_no_model(self, command: Command, tmp_path: Path) -> None:
        refusal(command("serve", tmp_path / "none", "--port", 0), "none")

    def test_an_evaluation_table_without_labels(
        self, command: Command, model: Path, tmp_path: Path
    ) -> None:
        table = write_jsonl(tmp_path / "table.jsonl", [{"text": "a"}])
        refusal(command("serve", model, "--port", 0, "--eval", table), "label")

    def test_it_listens_on_this_machine_only_and_ends_on_ctrl_c(self, model: Path) -> None:
        with serving(model) as (url, process):
            assert url.startswith("http://127.0.0.1:")
            with socket.socket() as other, pytest.raises(OSError):  # another loopback address
                other.settimeout(2)
                other.connect(("127.0.0.2", int(url.rpartition(":")[2])))
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        assert process.returncode == 130
        assert out == ""
        assert err.splitlines() == [
            f"protofit: serving {model} on {url} (Ctrl-C ends)",
            "protofit: stopped",
        ]

    def test_a_machine_reads_where_it_is(self, model: Path) -> None:
        with serving(model, "--json", "--allow-edits") as (url, process):
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=30)
        assert json.loads(out) == {"url": url, "model": str(model), "edits": True}

    @pytest.mark.slow
    def test_other_machines_are_let_in_only_with_a_warning(self, model: Path) -> None:
        with serving(model, "--host", "0.0.0.0") as (url, process):
            with socket.socket() as other:  # another address of this machine
                other.settimeout(5)
                other.connect(("127.0.0.2", int(url.rpartition(":")[2])))
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=30)
        assert "warning: other machines can reach it, and there is no password" in err
