"""Two data-parallel processes (gloo): the same bank on both, and the model of one process."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from helpers import ranks

TIMEOUT = 150
EVERY = pytest.mark.parametrize("name", ranks.RUNS)
CLOSE = pytest.mark.parametrize("name", ["even", "odd", "accumulated", "weighted"])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def launch(encoder: Path, folder: Path) -> tuple[int, str]:
    """Run the script on two ranks; (exit code, what it wrote)."""
    command = [
        *(sys.executable, "-m", "torch.distributed.run"),
        *("--nnodes=1", "--nproc-per-node=2"),
        *("--master-addr=127.0.0.1", f"--master-port={free_port()}"),
        *(str(ranks.__file__), str(encoder), str(folder)),
    ]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
    ) as process:
        try:
            output, _ = process.communicate(timeout=TIMEOUT)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, output


@pytest.fixture(scope="module")
def folder(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        pytest.skip("needs a torch with gloo")
    results = tmp_path_factory.mktemp("ranks")
    code, output = launch(tiny_bert, results)
    assert code == 0, output[-4000:]
    return results


def state_of(folder: Path, name: str, rank: int) -> dict[str, torch.Tensor]:
    return dict(load_file(folder / f"{name}-{rank}.safetensors"))


def facts_of(folder: Path, name: str, rank: int) -> dict[str, Any]:
    return dict(json.loads((folder / f"{name}-{rank}.json").read_text()))


@EVERY
def test_both_processes_end_with_the_same_model(folder: Path, name: str) -> None:
    one, other = state_of(folder, name, 0), state_of(folder, name, 1)
    assert one.keys() == other.keys()
    for key, tensor in one.items():
        assert torch.equal(tensor, other[key]), key
    assert facts_of(folder, name, 0) == facts_of(folder, name, 1)
    assert facts_of(folder, name, 0)["processes"] == 2


@EVERY
def test_creation_really_happened(folder: Path, name: str) -> None:
    state = state_of(folder, name, 0)
    assert int(state["head.created"]) > 0
    assert int(state["head.bank.born"].max()) > 0
    size = 2 + int(state["head.created"]) - int(state["head.pruned"])
    assert int(state["head.bank.active"].sum()) == size


@CLOSE
def test_one_process_does_the_same(folder: Path, tiny_bert: Path, name: str) -> None:
    alone = ranks.run_of(name, tiny_bert)
    alone.run()
    expected, found = alone.model.state_dict(), state_of(folder, name, 0)
    for key, tensor in expected.items():
        if not tensor.is_floating_point():
            assert torch.equal(tensor, found[key]), key
        elif ".key.bias" not in key:  # has no gradient but rounding, which Adam blows up
            torch.testing.assert_close(found[key], tensor, rtol=1e-3, atol=5e-5, msg=key)


def test_early_stopping_is_decided_together(folder: Path) -> None:
    facts = facts_of(folder, "stopping", 0)
    steps_per_epoch = 4  # 36 of 48 texts in batches of 9
    assert facts["steps"] % steps_per_epoch == 0
    assert 0 <= facts["score"][0] <= 1
