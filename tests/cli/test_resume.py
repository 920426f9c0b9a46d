"""Resuming: only the same run, never by accident, and nothing that matters is forgotten."""

from __future__ import annotations

import json
import shutil
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import pytest

from helpers.command import (
    EXAMPLES,
    Command,
    leftovers,
    refusal,
    training,
    weights_of,
    write_jsonl,
)

EVERY = 2


def saved_step(out: Path) -> int:
    """The step of the checkpoint beside a model folder; 0 where there is none."""
    manifest = out.with_name(f"{out.name}.run") / "checkpoint" / "checkpoint.json"
    return int(json.loads(manifest.read_text())["state"]["step"]) if manifest.exists() else 0


@pytest.fixture
def waiting(data: Path, tiny_bert: Path, tmp_path: Path) -> list[str]:
    """Arguments of a run that stopped right after its second checkpoint."""
    from protofit.training.state import RunState

    every = ("--set", f"train.checkpoint_every={EVERY}")
    save, arguments = RunState.save, training(data, tiny_bert, tmp_path / "model", *every, steps=8)
    seen: list[int] = []

    def stop(self: RunState, folder: Path) -> None:
        save(self, folder)
        seen.append(self.step)
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunState, "save", stop)
        from protofit.cli.main import run

        assert run(arguments) == 130
    assert seen == [EVERY, 2 * EVERY]
    return arguments


def test_unfinished_run_is_waiting(waiting: list[str], tmp_path: Path, command: Command) -> None:
    """It is neither lost nor resumed by accident; --overwrite starts anew."""
    refusal(command(*waiting), "an unfinished run is waiting", "--resume", "--overwrite")
    assert saved_step(tmp_path / "model") == 2 * EVERY
    assert command(*waiting, "--overwrite").code == 0
    assert saved_step(tmp_path / "model") == 0
    assert leftovers(tmp_path) == []


def test_resume_with_other_data_or_settings_is_refused(
    waiting: list[str], tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    """Exit code 2, and the checkpoint stays for the right arguments."""
    rows = [*EXAMPLES[:-1], {**EXAMPLES[-1], "text": "changed"}]
    other = write_jsonl(tmp_path / "other.jsonl", rows)
    relabelled = [{**row, "label": f"{row['label']}!"} for row in EXAMPLES]
    renamed = write_jsonl(tmp_path / "renamed.jsonl", relabelled)
    corrected = [{**EXAMPLES[0], "label": EXAMPLES[-1]["label"]}, *EXAMPLES[1:]]
    assert corrected[0] != EXAMPLES[0]
    one_label = write_jsonl(tmp_path / "corrected.jsonl", corrected)
    encoder = tmp_path / "elsewhere" / tiny_bert.name
    shutil.copytree(tiny_bert, encoder)
    content = bytearray((encoder / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (encoder / "model.safetensors").write_bytes(content)
    for changed in (
        [waiting[0], str(other), *waiting[2:]],
        [waiting[0], str(renamed), *waiting[2:]],
        [waiting[0], str(one_label), *waiting[2:]],
        [*waiting, "--balanced"],
        [*waiting, "--set", "head.beta=3"],
        [*waiting, "--seed", "1"],
        [*waiting, "--preset", "paper"],
        [*waiting, "--balanced", "--method", "raw"],
        [*waiting, "--encoder", str(encoder)],
    ):
        result = command(*changed, "--resume")
        refusal(result, str(tmp_path / "model.run"), "same arguments", "delete that folder")
        assert saved_step(tmp_path / "model") == 2 * EVERY
    assert command(*waiting, "--resume").code == 0


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("tokenizer.json", '"type": "Lowercase"', '"type": "NFC"'),
        ("config.json", '"hidden_dropout_prob": 0.1', '"hidden_dropout_prob": 0.3'),
    ],
)
def test_resume_with_a_changed_encoder_folder_is_refused(
    name: str,
    old: str,
    new: str,
    waiting: list[str],
    tiny_bert: Path,
    tmp_path: Path,
    command: Command,
) -> None:
    """The tokenizer and the configuration determine the run as much as the weights do."""
    encoder = tmp_path / "elsewhere" / tiny_bert.name
    shutil.copytree(tiny_bert, encoder)
    text = (encoder / name).read_text()
    assert old in text
    (encoder / name).write_text(text.replace(old, new))
    refusal(command(*waiting, "--encoder", str(encoder), "--resume"), "same arguments")


def test_resume_continues_where_it_stopped(
    waiting: list[str], data: Path, tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    """Not from the start: the steps before the checkpoint are not done again."""
    from protofit.training.loop import Run

    done: list[int] = []
    step = Run._step

    def count(self: Run, *arguments: Any) -> None:
        done.append(arguments[-1])
        step(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "_step", count)
        result = command(*waiting, "--resume", "--json")
    assert (result.code, result.err) == (0, "")
    assert done == [4, 5, 6, 7]
    assert command(*training(data, tiny_bert, tmp_path / "whole", *waiting[-2:], steps=8)).code == 0
    assert weights_of(tmp_path / "model") == weights_of(tmp_path / "whole")
    assert result.json()["steps"] == 8


def test_resume_of_nothing_starts(
    data: Path, tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    """A script may always say --resume; a finished run says that it is finished."""
    out = tmp_path / "model"
    arguments = training(data, tiny_bert, out, "--resume")
    assert command(*arguments).code == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    marks = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
    result = command(*arguments, "--json", "--eval", str(data))
    assert result.code == 0
    assert result.err.count("\n") == 1
    assert "finished already" in result.err
    assert result.json()["evaluation"]["examples"] == len(EXAMPLES)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert {path.name: path.stat().st_mtime_ns for path in out.iterdir()} == marks
    refusal(command(*arguments, "--seed", "1"), str(out), "another run", "--overwrite")
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_damaged_checkpoint_is_named(waiting: list[str], tmp_path: Path, command: Command) -> None:
    """One line that names the file; --overwrite gets past it."""
    weights = tmp_path / "model.run" / "checkpoint" / "optimiser.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    refusal(command(*waiting, "--resume"), "optimiser.safetensors", "truncated")
    assert command(*waiting, "--overwrite").code == 0


def value_for(field: Field[Any]) -> Any:
    """A value that is not the default of this field of `RunState`."""
    import torch

    values = {
        "str": f"value of {field.name}",
        "int": 7,
        "bool": True,
        "float": 0.1 + 0.2,
        "list[float] | None": [0.1, -1e-300],
        "list[Row]": [{"step": 1, "loss": 0.1 + 0.2}, {"step": 2, "loss": 1e-300}],
        "dict[str, Any]": {"beta": 2.5, "prune": {"window": None, "relative": True}},
        "dict[str, Tensor]": {
            f"{field.name}.float": torch.tensor([[0.1, -0.0], [float("inf"), 1e-42]]),
            f"{field.name}.long": torch.tensor(2**62),
            f"{field.name}.bool": torch.tensor([True, False]),
            f"{field.name}.empty": torch.zeros(0, 3),
        },
    }
    assert str(field.type) in values, f"give a value for the type of {field.name}: {field.type}"
    return values[str(field.type)]


def test_columns_of_the_trace_keep_their_order(tmp_path: Path) -> None:
    """Else `trace.csv` of a resumed run has its columns in another order."""
    from protofit.training.state import RunState

    rows = [{"step": 1.0, "loss": 2.0, "accuracy": 3.0}]
    RunState("mark", trace=rows).save(tmp_path / "checkpoint")
    loaded = RunState.load(tmp_path / "checkpoint", "mark")
    assert loaded is not None
    assert [list(row.items()) for row in loaded.trace] == [list(row.items()) for row in rows]


def test_every_field_of_the_run_state_is_restored(tmp_path: Path) -> None:
    """`load(save())` is the identity on every field there is, new ones included."""
    import torch

    from protofit.training.state import RunState

    state = RunState(**{field.name: value_for(field) for field in fields(RunState)})
    default = RunState("")
    state.save(tmp_path / "checkpoint")
    loaded = RunState.load(tmp_path / "checkpoint", state.fingerprint)
    assert loaded is not None
    for field in fields(RunState):
        wanted, found = getattr(state, field.name), getattr(loaded, field.name)
        assert wanted != getattr(default, field.name), field.name
        if not str(field.type).endswith("Tensor]"):
            assert (found, type(found)) == (wanted, type(wanted)), field.name
            continue
        assert found.keys() == wanted.keys()
        for name, tensor in wanted.items():
            assert found[name].dtype == tensor.dtype
            assert torch.equal(found[name], tensor)
            assert torch.equal(torch.signbit(found[name]), torch.signbit(tensor)), name
