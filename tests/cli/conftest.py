"""Fixtures of the command's tests: the command itself, its data, one model of each kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.command import EXAMPLES, Command, Result, training, write_jsonl
from protofit.cli.main import run


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run the command in this process: `command("info", folder)`."""

    def call(*arguments: Any) -> Result:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return Result(code, said.out, said.err)

    return call


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty-two labelled rows of two classes."""
    return write_jsonl(tmp_path_factory.mktemp("data") / "data.jsonl", EXAMPLES)


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory, data: Path, tiny_bert: Path) -> Path:
    """A trained classifier; nobody may change it."""
    folder = tmp_path_factory.mktemp("models") / "classifier"
    assert run(training(data, tiny_bert, folder, steps=16)) == 0
    return folder


@pytest.fixture(scope="session")
def regressor(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    """A trained regressor; nobody may change it."""
    rows = [{"text": row["text"], "label": i / 4} for i, row in enumerate(EXAMPLES)]
    folder = tmp_path_factory.mktemp("regressors")
    table = write_jsonl(folder / "numbers.jsonl", rows)
    arguments = training(table, tiny_bert, folder / "regressor", "--task", "regression")
    assert run(arguments) == 0
    return folder / "regressor"
