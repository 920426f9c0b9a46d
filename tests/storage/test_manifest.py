"""A damaged, incomplete, foreign or newer model folder is refused in one clear sentence."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protofit.errors import InputError, ModelFolderError, StorageError
from protofit.storage import manifest
from protofit.storage.atomic import replace_folder
from protofit.storage.manifest import read_manifest, sha256_of, write_manifest

FILES = {"weights.bin": bytes(range(256)) * 20, "labels.json": b"[]", "inner/words.txt": b"a b"}

quick = settings(deadline=None, max_examples=30)
file_names = st.text("abcxyz019_-ß漢.", min_size=1, max_size=12).filter(lambda s: s.strip("."))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


def fill(folder: Path, files: dict[str, bytes], *, version: int = 1) -> Path:
    """Make a complete model folder of the given files."""
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    write_manifest(folder, {"labels": ["x", "ü"]}, format_version=version)
    return folder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A complete model folder."""
    return fill(tmp_path / "model", FILES)


def edit(folder: Path, change: Callable[[dict[str, object]], object]) -> None:
    """Change the manifest by hand."""
    path = folder / "protofit.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def refusal(folder: Path, *, supported: int = 1, verify: bool = True) -> str:
    """The sentence with which the folder is refused."""
    with pytest.raises(ModelFolderError) as caught:
        read_manifest(folder, supported=supported, verify=verify)
    assert caught.value.fix
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_sha256_of_long_file(tmp_path: Path) -> None:
    """Reading in pieces gives the digest of the whole."""
    data = random.Random(0).randbytes(3 * manifest.CHUNK_BYTES + 17)
    (tmp_path / "long").write_bytes(data)
    assert sha256_of(tmp_path / "long") == hashlib.sha256(data).hexdigest()
    with pytest.raises(StorageError, match="could not be read") as caught:
        sha256_of(tmp_path / "absent")
    assert caught.value.where == str(tmp_path / "absent")


def test_manifest_content(model: Path) -> None:
    """It lists every other file, its own fields and the extra ones."""
    content = read_manifest(model, supported=1)
    assert len(str(content.pop("checksum"))) == 64
    assert content == {
        "format": "protofit",
        "format_version": 1,
        "labels": ["x", "ü"],
        "files": {
            name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for name, data in FILES.items()
        },
    }


def test_manifest_is_deterministic(model: Path, tmp_path: Path) -> None:
    """The same files written in another order give the same bytes, sorted and indented."""
    other = fill(tmp_path / "other", dict(reversed(FILES.items())))
    text = (model / "protofit.json").read_bytes()
    assert (other / "protofit.json").read_bytes() == text
    expected = json.dumps(json.loads(text), sort_keys=True, indent=2) + "\n"
    assert text.decode() == expected
    write_manifest(model, {"labels": ["x", "ü"]}, format_version=1)
    assert (model / "protofit.json").read_bytes() == text


def test_manifest_with_another_name(tmp_path: Path) -> None:
    """A manifest of the same name deeper in the folder is an ordinary file."""
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "index.json").write_text("{}")
    write_manifest(tmp_path, {}, name="index.json", format_version=3)
    content = read_manifest(tmp_path, name="index.json", supported=3)
    files = content["files"]
    assert isinstance(files, dict)
    assert list(files) == ["inner/index.json"]


@pytest.mark.parametrize("key", ["format", "format_version", "files"])
def test_extra_cannot_replace_the_manifest_fields(tmp_path: Path, key: str) -> None:
    """A reserved key is refused before anything is written."""
    with pytest.raises(InputError, match=key):
        write_manifest(tmp_path, {key: 1}, format_version=1)
    assert list(tmp_path.iterdir()) == []


def test_unlisted_files_are_ignored(model: Path) -> None:
    """A note that someone put into the folder does not matter."""
    (model / "NOTES.md").write_text("mine")
    (model / "inner" / ".DS_Store").write_text("x")
    assert read_manifest(model, supported=1)["format_version"] == 1


def test_missing_folder_and_file_instead_of_folder(tmp_path: Path) -> None:
    """Both name the path."""
    assert "there is no such folder" in refusal(tmp_path / "absent")
    (tmp_path / "file").touch()
    assert "this is a file, not a model folder" in refusal(tmp_path / "file")
    assert str(tmp_path / "file") in refusal(tmp_path / "file")


def test_folder_without_manifest(tmp_path: Path) -> None:
    """Any other folder is said to be no model folder."""
    assert "not a ProtoFit model folder" in refusal(tmp_path)
    (tmp_path / "protofit.json").mkdir()
    assert "not a ProtoFit model folder" in refusal(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "\xff", "[" * 100_000, '{"format": "protofit"'])
def test_manifest_that_is_not_json(model: Path, text: str) -> None:
    """Cut, empty, binary or absurd text is called damaged."""
    (model / "protofit.json").write_bytes(text.encode("latin-1"))
    sentence = refusal(model)
    assert "not JSON" in sentence
    assert "protofit.json" in sentence
    assert "Restore the folder from a copy or train again." in sentence


def test_manifest_of_something_else(model: Path) -> None:
    """JSON of another program is not taken for ours."""
    for text in ("[]", "1", "{}", '{"format": "other", "format_version": 1, "files": {}}'):
        (model / "protofit.json").write_text(text)
        assert "not the manifest of a ProtoFit model folder" in refusal(model)


@pytest.mark.parametrize("version", [0, -1, True, 1.0, "1", None])
def test_wrong_format_version(model: Path, version: object) -> None:
    """Only whole numbers from 1 are versions."""
    edit(model, lambda content: content.update(format_version=version))
    assert "format_version" in refusal(model)


def test_newer_format(tmp_path: Path) -> None:
    """A newer format is told before its unknown shape could confuse, an older one is read."""
    model = fill(tmp_path / "model", FILES, version=7)
    edit(model, lambda content: content.update(files="packed"))
    sentence = refusal(model)
    assert "made by a newer ProtoFit (format 7, this one reads up to 1)" in sentence
    assert "Upgrade" in sentence
    older = fill(tmp_path / "older", FILES, version=2)
    assert read_manifest(older, supported=3)["format_version"] == 2


@pytest.mark.parametrize(
    "files",
    [
        None,
        ["weights.bin"],
        {"weights.bin": 3},
        {"weights.bin": {"sha256": "0" * 64}},
        {"weights.bin": {"bytes": True, "sha256": "0" * 64}},
        {"weights.bin": {"bytes": -1, "sha256": "0" * 64}},
        {"weights.bin": {"bytes": 1.0, "sha256": "0" * 64}},
        {"weights.bin": {"bytes": 1}},
        {"weights.bin": {"bytes": 1, "sha256": "0" * 63}},
        {"weights.bin": {"bytes": 1, "sha256": "G" * 64}},
        {"weights.bin": {"bytes": 1, "sha256": None}},
    ],
)
def test_wrong_list_of_files(model: Path, files: object) -> None:
    """Each wrong shape is called a damaged manifest."""
    edit(model, lambda content: content.update(files=files))
    assert "the manifest is damaged" in refusal(model)


UNSAFE_NAMES = [
    "/etc/passwd",
    "../secret",
    "inner/../../secret",
    "inner/..",
    "..",
    "..\\secret",
    "C:\\secret",
    "C:secret",
    "\\\\server\\share\\x",
    "//server/x",
    "a\0b",
    "a\nb",
    "\ud800",
]


@pytest.mark.parametrize("name", UNSAFE_NAMES)
def test_name_that_leads_out(model: Path, name: str) -> None:
    """Such a name is refused even if the file it means exists and fits."""
    (model.parent / "secret").write_bytes(b"x")
    entry = {"bytes": 1, "sha256": hashlib.sha256(b"x").hexdigest()}
    edit(model, lambda content: content.update(files={name: entry}))
    sentence = refusal(model)
    assert "no safe name" in sentence
    assert sentence.isprintable()


@quick
@given(parts=st.lists(file_names | st.just(".."), min_size=1, max_size=4))
def test_any_climbing_name_is_unsafe(parts: list[str]) -> None:
    """Two dots as a part are unsafe anywhere, with either slash; plain parts are safe."""
    for slash in ("/", "\\"):
        assert manifest._unsafe(slash.join(parts)) == (".." in parts)


def test_writer_refuses_names_the_reader_would(tmp_path: Path) -> None:
    """A file that could not be read back elsewhere is refused when saving."""
    (tmp_path / "C:weights").touch()
    with pytest.raises(InputError, match="file name") as caught:
        write_manifest(tmp_path, {}, format_version=1)
    assert caught.value.where == str(tmp_path / "C:weights")


@pytest.mark.parametrize("verify", [True, False])
def test_missing_file(model: Path, verify: bool) -> None:
    """The sentence names it."""
    (model / "inner" / "words.txt").unlink()
    sentence = refusal(model, verify=verify)
    assert sentence.startswith(str(model / "inner" / "words.txt"))
    assert "missing" in sentence


@pytest.mark.parametrize("verify", [True, False])
def test_truncated_and_overlong_file(model: Path, verify: bool) -> None:
    """The sentence names the file and both sizes."""
    path = model / "weights.bin"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    sentence = refusal(model, verify=verify)
    assert sentence.startswith(str(path))
    assert "truncated: 5119 bytes instead of 5120" in sentence
    path.write_bytes(whole + b"x")
    assert "damaged: 5121 bytes instead of 5120" in refusal(model, verify=verify)
    path.write_bytes(whole)
    read_manifest(model, supported=1)


def test_file_replaced_by_folder(model: Path) -> None:
    """A folder of the listed name is not the file."""
    (model / "labels.json").unlink()
    (model / "labels.json").mkdir()
    assert "missing" in refusal(model)


def test_unreadable_file_names_itself(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fails while reading is a storage error, not a damaged model."""
    real_open = Path.open

    def fail(self: Path, mode: str = "r") -> object:
        if self.name == "weights.bin":
            raise OSError(5, os.strerror(5), str(self))
        return real_open(self, mode)

    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(StorageError, match="could not be read") as caught:
        read_manifest(model, supported=1)
    assert caught.value.where == str(model / "weights.bin")


@quick
@given(
    files=st.dictionaries(
        file_names.filter(lambda name: name != "protofit.json"),
        st.binary(min_size=1, max_size=200),
        min_size=1,
        max_size=4,
    ),
    dice=st.randoms(use_true_random=False),
)
def test_any_flipped_bit_is_found(files: dict[str, bytes], dice: random.Random) -> None:
    """Whatever is saved reads back; one bit flipped anywhere is damage in that very file."""
    with tempfile.TemporaryDirectory() as parent:
        folder = fill(Path(parent) / "model", files)
        listed = read_manifest(folder, supported=1)["files"]
        assert isinstance(listed, dict)
        assert listed.keys() == files.keys()
        name = dice.choice(sorted(files))
        data = bytearray(files[name])
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        (folder / name).write_bytes(data)
        sentence = refusal(folder)
        assert sentence.startswith(str(folder / name))
        assert "sha256" in sentence
        assert read_manifest(folder, supported=1, verify=False)["files"] == listed


@quick
@given(
    content=json_values
    | st.fixed_dictionaries(
        {"format": st.just("protofit"), "format_version": st.just(1) | json_values},
        optional={"files": st.dictionaries(st.text(max_size=8), json_values, min_size=1)},
    )
)
def test_any_other_json_is_refused_with_a_sentence(content: object) -> None:
    """No manifest, however odd, brings out anything but the one error."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "protofit.json").write_text(json.dumps(content))
        assert refusal(Path(folder)).startswith(folder)


@quick
@given(data=st.binary(max_size=60))
def test_any_bytes_are_refused_with_a_sentence(data: bytes) -> None:
    """The same for bytes that need not be JSON."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "protofit.json").write_bytes(data)
        assert refusal(Path(folder)).startswith(folder)


def test_reader_starts_again_when_the_folder_is_replaced(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit between reading the manifest and the files is not mistaken for damage."""
    real_sha256 = manifest.sha256_of
    commits: list[Path] = []

    def commit_meanwhile(path: Path) -> str:
        if not commits:
            commits.append(path)
            with replace_folder(model) as folder:
                monkeypatch.setattr(manifest, "sha256_of", real_sha256)
                fill(folder, {name: data[::-1] for name, data in FILES.items()}, version=2)
        return real_sha256(path)

    monkeypatch.setattr(manifest, "sha256_of", commit_meanwhile)
    assert read_manifest(model, supported=2)["format_version"] == 2
    assert len(commits) == 1


def test_copied_folder_is_still_whole(model: Path, tmp_path: Path) -> None:
    """Nothing in a manifest ties it to its place; links to the files count as files."""
    shutil.copytree(model, tmp_path / "copy")
    assert read_manifest(tmp_path / "copy", supported=1) == read_manifest(model, supported=1)
    (tmp_path / "linked").mkdir()
    shutil.copy(model / "protofit.json", tmp_path / "linked")
    for name in ("weights.bin", "labels.json", "inner"):
        (tmp_path / "linked" / name).symlink_to(model / name)
    assert read_manifest(tmp_path / "linked", supported=1)["labels"] == ["x", "ü"]
