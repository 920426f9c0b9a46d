"""Records are lines that are added whole, or not at all, and never twice."""

from __future__ import annotations

import multiprocessing
import warnings
from pathlib import Path
from typing import Any

import pytest

from protofit.bench.records import RecordFile, check_versions, read_records
from protofit.errors import InputError, ProtoFitWarning


def record(key: str, code: str = "c0", **more: Any) -> dict[str, Any]:
    return {"key": key, "code": code, **more}


def test_no_file_is_no_records(tmp_path: Path) -> None:
    found = read_records(tmp_path / "none.jsonl")
    assert found.records == []
    assert not found.torn


def test_what_is_appended_is_read(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "r.jsonl"
    file = RecordFile(path)
    assert file.append(record("a", text="é\n"))
    assert file.append(record("b"))
    assert not file.append(record("a", text="again"))
    assert read_records(path).records == [record("a", text="é\n"), record("b")]


def test_what_others_append_is_known(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    mine, other = RecordFile(path), RecordFile(path)
    assert mine.append(record("a"))
    assert other.append(record("b"))
    assert not mine.append(record("b"))
    assert mine.append(record("c"))
    assert not other.append(record("c"))
    assert [r["key"] for r in read_records(path).records] == ["a", "b", "c"]


@pytest.mark.parametrize("rest", ['{"key":"b","co', '{"key":"b","code":"c0"}', "\0\0"])
def test_a_torn_line_is_told_and_cut_off(tmp_path: Path, rest: str) -> None:
    path = tmp_path / "r.jsonl"
    RecordFile(path).append(record("a"))
    whole = path.read_bytes()
    path.write_bytes(whole + rest.encode())
    found = read_records(path)
    assert found.torn
    assert found.keys() == {"a"}
    with pytest.warns(ProtoFitWarning, match=f"{len(rest)} bytes of an unfinished line"):
        assert RecordFile(path).append(record("b"))
    assert read_records(path).records == [record("a"), record("b")]
    assert path.read_bytes().startswith(whole)


def test_a_torn_line_after_known_ones(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    file = RecordFile(path)
    file.append(record("a"))
    with path.open("ab") as other:
        other.write(b'{"key":"b","code":"c0"}\n{"key":')
    with pytest.warns(ProtoFitWarning, match="7 bytes"):
        assert not file.append(record("b"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert file.append(record("c"))
    assert read_records(path).keys() == {"a", "b", "c"}


def test_a_damaged_line_in_the_middle_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"key":"a","code":"c0"}\nnonsense\n{"key":"b","code":"c0"}\n')
    with pytest.raises(InputError, match=r"r\.jsonl, line 2: this is not a record"):
        read_records(path)


def test_numbers_that_json_lacks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        RecordFile(tmp_path / "r.jsonl").append(record("a", value=float("nan")))
    assert not (tmp_path / "r.jsonl").exists()


def test_versions_are_not_mixed_silently(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    file = RecordFile(path)
    for i in range(3):
        file.append(record(str(i), "old"))
    file.append(record("x", "new"))
    found = read_records(path)
    assert found.codes == {"old": 3, "new": 1}
    with pytest.raises(InputError, match=r"other code versions than new \(3 of old\)"):
        check_versions(path, found, "new", mix=False)
    check_versions(path, found, "new", mix=True)
    check_versions(path, read_records(tmp_path / "none"), "new", mix=False)


def _write_many(path: Path, own: int) -> None:
    file = RecordFile(path)
    for i in range(40):
        file.append(record(f"{own}-{i}", pad="x" * (i * 50)))
        file.append(record(f"both-{i}", writer=own))


def test_processes_may_append_at_once(tmp_path: Path) -> None:
    """Every line whole, every key once."""
    path = tmp_path / "r.jsonl"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_write_many, args=(path, own)) for own in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    lines = path.read_text().splitlines()
    found = read_records(path)
    assert len(lines) == len(found.records) == 4 * 40
    assert not found.torn
