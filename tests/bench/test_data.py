"""Sets and subsets: nested, stratified, the same for every method."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.places import EXAMPLE
from protofit.bench.data import LabelledSet, Part, load_set, nested_subset
from protofit.bench.workbench import Places, Workbench
from protofit.data.table import Table
from protofit.errors import InputError


@st.composite
def pools(draw: st.DrawFn) -> np.ndarray:
    """Labels of two to six classes, some of them rare, in any order."""
    sizes = draw(st.lists(st.integers(1, 60), min_size=2, max_size=6))
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return np.random.default_rng(draw(st.integers(0, 99))).permutation(labels)


@given(pools(), st.integers(0, 2**40), st.data())
def test_subsets_are_nested_stratified_and_repeatable(
    labels: np.ndarray, seed: int, data: st.DataObject
) -> None:
    whole = nested_subset(labels, len(labels), seed)
    assert sorted(whole) == list(range(len(labels)))
    size = data.draw(st.integers(0, len(labels)))
    assert np.array_equal(nested_subset(labels.copy(), size, seed), whole[:size])
    share = np.bincount(labels) / len(labels)
    for count in range(len(labels) + 1):
        found = np.bincount(labels[whole[:count]], minlength=len(share))
        assert np.all(np.abs(found - count * share) < 1 + 1e-9)


@given(st.integers(1, 50), st.integers(0, 9))
def test_regression_subsets_are_nested(count: int, seed: int) -> None:
    whole = nested_subset(None, count, seed, pool=count)
    assert sorted(whole) == list(range(count))
    for size in range(count):
        assert np.array_equal(nested_subset(None, size, seed, pool=count), whole[:size])


def test_seeds_differ() -> None:
    labels = np.arange(200) % 3
    assert set(nested_subset(labels, 50, 0)) != set(nested_subset(labels, 50, 1))


def test_single_texts(sets: Path) -> None:
    found = load_set("toys", sets)
    assert found.classes is not None
    assert found.classes.to_json() == [0, 1]
    assert not found.paired
    assert list(found.dev) == ["validation"]
    assert len(found.dev["validation"]) == 40
    assert found.train.labels.dtype == np.int64


def test_pairs_with_two_splits(sets: Path) -> None:
    found = load_set("pairs", sets)
    assert found.paired
    assert list(found.dev) == ["validation_matched", "validation_mismatched"]
    assert isinstance(found.train.inputs[0], tuple)


def test_scores_are_regression(sets: Path) -> None:
    found = load_set("scores", sets)
    assert found.classes is None
    assert found.train.labels.dtype == np.float32
    assert found.subset(9, 0).shape == (9,)


def write(folder: Path, columns: dict[str, list[object]], name: str = "train") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), folder / f"{name}.parquet")


def test_repeats_leave_the_pool_and_keep_the_first(tmp_path: Path) -> None:
    columns = {"sentence1": ["a", "b", "a", "a"], "label": [0, 1, 0, 1], "idx": [10, 11, 12, 13]}
    write(tmp_path / "x", columns)
    write(tmp_path / "x", {**columns, "sentence1": ["c", "d", "c", "c"]}, "validation")
    found = load_set("x", tmp_path)
    assert found.train.ids == ["10", "11", "13"]  # the third repeats the first; the last does not
    assert len(found.dev["validation"]) == 4


def test_what_is_measured_on_leaves_the_pool(tmp_path: Path) -> None:
    """STS-B repeats pairs of its train split in its validation split."""
    pairs = {"sentence1": ["A ", "a", "b"], "sentence2": ["x", "y", "x"], "label": [1, 0, 1]}
    write(tmp_path / "x", {**pairs, "idx": [0, 1, 2]})
    held = {"sentence1": ["a", "c"], "sentence2": ["X", "y"], "label": [1, 0], "idx": [0, 1]}
    write(tmp_path / "x", held, "validation")
    assert load_set("x", tmp_path).train.ids == ["0", "1", "2"]
    found = Workbench(Places(data_dir=tmp_path)).set("x")
    assert found.train.ids == ["1", "2"]
    assert len(found.dev["validation"]) == 2


def test_mnli_takes_verbatim_sources_only(tmp_path: Path) -> None:
    sources = ["kshot_glue_index", "super_ni_1", "o_lora_3k", "glue_pretrain_10k"]
    columns = {"sentence1": list("abcd"), "sentence2": list("efgh"), "label": [0, 1, 1, 0],
               "source": sources}  # fmt: skip
    for name in ("mnli", "other"):
        write(tmp_path / name, columns)
        held = {**columns, "sentence1": list("mnop")}
        write(tmp_path / name, held, "validation_matched")
    assert [first for first, _ in load_set("mnli", tmp_path).train.inputs] == ["a", "c", "d"]
    assert len(load_set("other", tmp_path).train) == 4


def test_csv_with_test_file() -> None:
    found = load_set("tickets", EXAMPLE.parent)
    assert list(found.dev) == ["test"]
    assert found.classes is not None
    assert "billing" in found.classes.to_json()


def test_what_cannot_be_loaded_is_said(sets: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no set 'toyz'.*pairs, scores, toys"):
        load_set("toyz", sets)
    with pytest.raises(InputError, match="this is no set"):
        load_set("not an id", None)
    (tmp_path / "y").mkdir()
    with pytest.raises(InputError, match="lacks train or validation"):
        load_set("y", tmp_path)
    with pytest.raises(InputError, match="260 training examples, not 261"):
        load_set("toys", sets).subset(261, 0)


def test_dataset_ids_know_their_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def read(source: str) -> Table:
        asked.append(source)
        first = ["a", "b"] if source.endswith("train") else ["e", "f"]
        columns = {"premise": first, "hypothesis": ["c", "d"], "label": [0, 1]}
        return Table(source, columns, [1, 2], "row")

    monkeypatch.setattr("protofit.bench.data.read_table", read)
    assert load_set("nyu-mll/glue/mnli", None).train.inputs == [("a", "c"), ("b", "d")]
    assert [source.partition(":")[2] for source in asked] == [
        "train", "validation_matched", "validation_mismatched",
    ]  # fmt: skip


def test_hash_knows_rows_and_labels() -> None:
    def hashed(ids: list[str], labels: list[int], rows: list[int]) -> str:
        part = Part(["t"] * len(ids), np.array(labels), ids)
        return LabelledSet("x", None, part, {}).subset_hash(np.array(rows))

    base = hashed(["1", "2", "3"], [0, 1, 0], [0, 1])
    assert len(base) == 16
    assert base == hashed(["1", "2", "9"], [0, 1, 1], [0, 1])
    assert base != hashed(["1", "3", "2"], [0, 1, 0], [0, 1])
    assert base != hashed(["1", "2", "3"], [0, 0, 0], [0, 1])
    assert base != hashed(["1", "2", "3"], [0, 1, 0], [0, 2])
