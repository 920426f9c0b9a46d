"""Model folders and encoder folders that cannot be used: exit code 2, one line, nothing loaded."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.command import Command, refusal, training
from protofit.storage.manifest import RESERVED, write_manifest

Breakage = Callable[[Path], object]


def flip(path: Path) -> None:
    """Change one bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def shorten(path: Path) -> None:
    """Keep the first half of a file."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a JSON file."""
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def manifest(change: Callable[[dict[str, Any]], object]) -> Breakage:
    """A change of the model folder's manifest, written as if it were meant."""

    def apply(folder: Path) -> None:
        content = json.loads((folder / "protofit.json").read_text())
        change(content)
        extra = {name: value for name, value in content.items() if name not in RESERVED}
        write_manifest(folder, extra, format_version=content["format_version"])

    return apply


BROKEN_MODELS: dict[str, tuple[Breakage, tuple[str, ...]]] = {
    "missing": (shutil.rmtree, ("no such folder", "Check the path")),
    "truncated weights": (
        lambda folder: shorten(folder / "model.safetensors"),
        ("model.safetensors: ", "truncated", "Restore"),
    ),
    "flipped bit in the weights": (
        lambda folder: flip(folder / "model.safetensors"),
        ("model.safetensors: ", "damaged", "Restore"),
    ),
    "flipped bit in the config": (
        lambda folder: flip(folder / "config.json"),
        ("config.json: ", "damaged", "Restore"),
    ),
    "flipped bit in the tokenizer": (
        lambda folder: flip(folder / "tokenizer.json"),
        ("tokenizer.json: ", "damaged", "Restore"),
    ),
    "weights gone": (
        lambda folder: (folder / "model.safetensors").unlink(),
        ("model.safetensors: ", "missing", "Restore"),
    ),
    "manifest gone": (
        lambda folder: (folder / "protofit.json").unlink(),
        ("not a ProtoFit model folder", "Give the folder"),
    ),
    "manifest cut": (lambda folder: shorten(folder / "protofit.json"), ("damaged", "Restore")),
    "newer format": (
        manifest(lambda content: content.update(format_version=99)),
        ("protofit.json: ", "newer ProtoFit (format 99", "Upgrade"),
    ),
    "no settings": (manifest(lambda content: content.pop("settings")), ("'settings'",)),
    "no record": (manifest(lambda content: content.pop("record")), ("'record'",)),
    "no pairs flag": (manifest(lambda content: content.pop("paired")), ("'paired'",)),
    "garbled record": (manifest(lambda content: content.update(record=3)), ("model",)),
    "unknown method": (
        manifest(lambda content: content["settings"].update(method="magic")),
        ("no method 'magic'", "Choose one of"),
    ),
    "one bit of a label": (
        lambda folder: edit(
            folder / "protofit.json", lambda content: content.update(classes=["bae", "good"])
        ),
        ("protofit.json", "Restore"),
    ),
    "one class": (manifest(lambda content: content.update(classes=["good"])), ("two classes",)),
}


@pytest.mark.parametrize("case", BROKEN_MODELS)
def test_broken_model(case: str, model: Path, data: Path, tmp_path: Path, command: Command) -> None:
    """Every command that reads a model says what is wrong with it, and where."""
    breakage, parts = BROKEN_MODELS[case]
    broken = tmp_path / "model"
    shutil.copytree(model, broken)
    breakage(broken)
    for arguments in (["info", broken], ["predict", broken, data], ["evaluate", broken, data]):
        refusal(command(*arguments), *parts)
    result = command("info", broken, "--json")
    assert set(result.json()) == {"error", "where", "fix"}
    refusal(result, *parts)


def test_message_names_the_folder(model: Path, tmp_path: Path, command: Command) -> None:
    """Even where the fault is in the content of the manifest, the reader learns which model."""
    broken = tmp_path / "model"
    for change in (
        lambda content: content["settings"].update(method="magic"),
        lambda content: content.update(classes=["good"]),
        lambda content: content["settings"]["head"].update(beta="many"),
    ):
        shutil.rmtree(broken, ignore_errors=True)
        shutil.copytree(model, broken)
        manifest(change)(broken)
        refusal(command("info", broken), str(broken))


def test_file_and_foreign_folder(
    data: Path, tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    """What is no model folder is left as it is."""
    refusal(command("info", data), f"{data}: ", "a file, not a model folder", "Give the folder")
    refusal(command("predict", tiny_bert, data), f"{tiny_bert}: ", "not a ProtoFit model folder")
    refusal(command("evaluate", tmp_path, data), f"{tmp_path}: ", "not a ProtoFit model folder")
    assert list(tmp_path.iterdir()) == []


BROKEN_ENCODERS: dict[str, tuple[Breakage, tuple[str, ...]]] = {
    "missing": (shutil.rmtree, ("no such encoder folder", "Check the path.")),
    "without tokenizer": (
        lambda folder: (folder / "tokenizer.json").unlink(),
        ("no tokenizer", "tokenizer.save_pretrained"),
    ),
    "without config": (
        lambda folder: (folder / "config.json").unlink(),
        ("no config.json", "Give a Hugging Face model folder."),
    ),
    "without weights": (
        lambda folder: (folder / "model.safetensors").unlink(),
        ("no weights in safetensors form", "model.save_pretrained"),
    ),
    "truncated weights": (
        lambda folder: shorten(folder / "model.safetensors"),
        ("weights are damaged", "Get the file again."),
    ),
    "no weights inside": (
        lambda folder: (folder / "model.safetensors").write_bytes(b""),
        ("weights are damaged", "Get the file again."),
    ),
    "config of another size": (
        lambda folder: edit(folder / "config.json", lambda c: c.update(hidden_size=64)),
        ("cannot be loaded", "Check that the folder"),
    ),
    "config cut": (
        lambda folder: shorten(folder / "config.json"),
        ("cannot be loaded", "Check that the folder"),
    ),
    "config that is a list": (
        lambda folder: (folder / "config.json").write_text("[]"),
        ("cannot be loaded", "Check that the folder"),
    ),
    "unknown architecture": (
        lambda folder: edit(folder / "config.json", lambda c: c.update(model_type="magic")),
        ("cannot be loaded", "magic", "Check that the folder"),
    ),
    "tokenizer cut": (
        lambda folder: shorten(folder / "tokenizer.json"),
        ("tokenizer cannot be loaded", "Check that the folder"),
    ),
}


@pytest.mark.parametrize("case", BROKEN_ENCODERS)
def test_broken_encoder(
    case: str, tiny_bert: Path, data: Path, tmp_path: Path, command: Command
) -> None:
    """The command stops with the encoder's name; no model folder appears."""
    breakage, parts = BROKEN_ENCODERS[case]
    broken = tmp_path / "encoder"
    shutil.copytree(tiny_bert, broken)
    breakage(broken)
    line = refusal(command(*training(data, broken, tmp_path / "model")), *parts)
    assert "encoder: " in line
    assert not (tmp_path / "model").exists()
    assert not (tmp_path / "model.run").exists()


def test_encoder_that_lacks_tensors(
    tiny_bert: Path, data: Path, tmp_path: Path, command: Command
) -> None:
    """A missing layer must not be filled with random numbers in silence."""
    from safetensors.torch import load_file, save_file

    broken = tmp_path / "encoder"
    shutil.copytree(tiny_bert, broken)
    tensors = load_file(broken / "model.safetensors")
    kept = {name: value for name, value in tensors.items() if "layer.1." not in name}
    assert 0 < len(kept) < len(tensors)
    save_file(kept, broken / "model.safetensors", metadata={"format": "pt"})
    result = command(*training(data, broken, tmp_path / "model"))
    refusal(result, "encoder: ", "layer.1.")


@pytest.mark.parametrize("name", ["nobody/nothing-of-this-name", "no-such-model"])
def test_unknown_hub_id(name: str, data: Path, tmp_path: Path, command: Command) -> None:
    """Without network, the message says that a name was looked up on the Hub."""
    result = command(*training(data, Path(name), tmp_path / "model"))
    refusal(result, f"{name}: ", "cannot be loaded", "check the name and the network")


def test_encoder_that_is_a_file(data: Path, tmp_path: Path, command: Command) -> None:
    """A file is no encoder."""
    result = command(*training(data, data, tmp_path / "model"))
    refusal(result, f"{data}: ", "the encoder is a file", "Give the folder")
