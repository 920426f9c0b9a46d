"""Reading tables: every format, every way in, and every error with its exact place."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.fresh import run_fresh
from protofit.data.hub import DatasetId, parse_id
from protofit.data.table import Table, read_table
from protofit.errors import InputError

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
TRICKY = st.sampled_from(['"', '""', "\r", "\n", "\r\n", "שלום", "\u200b\u202e", "\ufeff", "NA"])
CELL = st.lists(ANY_TEXT | TRICKY, max_size=3).map("".join)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def problem(source: str, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        read_table(source, **options)  # type: ignore[arg-type]
    message = str(caught.value)
    assert "\n" not in message
    assert caught.value.fix
    return message


def piped(content: str | bytes, fmt: str = "auto") -> Table:
    data = content if isinstance(content, bytes) else content.encode()
    return read_table("-", fmt=fmt, stdin=io.BytesIO(data))


# ---- comma- and tab-separated ----


def test_csv_cells_stay_as_written(here: Path) -> None:
    table = read_table(put("t.csv", "text,label\nNA, 07 \nnull,1.50\n,True\n"))
    assert table.columns == {"text": ["NA", "null", ""], "label": [" 07 ", "1.50", "True"]}
    assert (table.source, table.rows, table.unit) == ("t.csv", [2, 3, 4], "line")


def test_csv_numbers_a_record_by_the_line_on_which_it_begins(here: Path) -> None:
    table = read_table(put("t.csv", '\ntext,label\r\n"a\r\nb",x\r\n\r\n\r\n"c\n\nd",y\r\ne,z'))
    assert table.columns == {"text": ["a\r\nb", "c\n\nd", "e"], "label": ["x", "y", "z"]}
    assert table.rows == [3, 7, 10]
    assert table.where(1, "label") == "t.csv, line 7, column 'label'"
    assert table.where(1) == "t.csv, line 7"
    assert len(table) == 3


def test_byte_order_mark_is_no_part_of_the_first_name(here: Path) -> None:
    assert list(read_table(put("t.csv", b"\xef\xbb\xbftext\nhi\n")).columns) == ["text"]


def test_tsv(here: Path) -> None:
    table = read_table(put("t.TSV", 'text\tlabel\na, b\tx\n"c\td"\ty\n'))
    assert table.columns == {"text": ["a, b", "c\td"], "label": ["x", "y"]}


def test_columns_without_a_name_are_left_out(here: Path) -> None:
    assert read_table(put("t.csv", ",text,,\n0,a,,\n")).columns == {"text": ["a"]}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    rows=st.lists(st.tuples(CELL, CELL), min_size=1, max_size=6), delimiter=st.sampled_from(",\t")
)
def test_what_the_csv_module_writes_is_read_back(
    rows: list[tuple[str, str]], delimiter: str
) -> None:
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter).writerows([("text", "label"), *rows])
    table = piped(file.getvalue(), "csv" if delimiter == "," else "tsv")
    assert list(zip(table.columns["text"], table.columns["label"], strict=True)) == rows


@settings(max_examples=100, deadline=None)
@given(cells=st.lists(CELL, min_size=1, max_size=6))
def test_each_line_number_is_where_the_record_begins(cells: list[str]) -> None:
    records = ["text", *('"' + cell.replace('"', '""') + '"' for cell in cells)]
    expected, line = [], 1
    for record in records:
        expected.append(line)
        line += len(io.StringIO(record + "\n", newline="").readlines())
    assert piped("\n".join(records), "csv").rows == expected[1:]


def test_large_cells_are_read_and_the_global_limit_is_restored(here: Path) -> None:
    before = csv.field_size_limit()
    big = "x" * 2_000_000
    content = f'text,label\n{big},a\n"{big}",b\n'.encode()
    assert len(big) > before
    with ThreadPoolExecutor(4) as pool:
        tables = list(pool.map(piped, [content] * 8))
    assert all(table.columns["text"] == [big, big] for table in tables)
    problem(put("bad.csv", "a,b\n1\n"))
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("row", "found", "fix"),
    [("a", "the row has 1 cell, the header has 2", "Add the missing cells"),
     ("a,b,c", "the row has 3 cells, the header has 2", "Put double quotes around a cell")],
)  # fmt: skip
def test_uneven_row(here: Path, row: str, found: str, fix: str) -> None:
    message = problem(put("t.csv", f'text,label\n"x\ny",1\n\n{row}\n'))
    assert message.startswith(f"t.csv, line 5: {found}. {fix}")


@pytest.mark.parametrize(
    ("name", "content", "fix"),
    [("a.csv", "text;label\nHello, world;x\n", "by semicolons: save the file with commas"),
     ("a.csv", "text\tlabel\nHello, world\tx\n", "by tabs: give --format tsv"),
     ("a.tsv", "text,label\nHello\tworld,x\n", "by commas: give --format csv")],
)  # fmt: skip
def test_uneven_row_of_another_separator(here: Path, name: str, content: str, fix: str) -> None:
    message = problem(put(name, content))
    assert message.startswith(f"{name}, line 2: the row has 2 cells, the header has 1.")
    assert fix in message


def test_quote_that_is_never_closed(here: Path) -> None:
    message = problem(put("t.csv", 'text,label\na,x\n"b,y\nc,z\n'))
    assert message.startswith("t.csv, line 3: ")
    assert "a double quote is opened and never closed" in message


def test_text_after_a_closed_quote(here: Path) -> None:
    message = problem(put("t.csv", 'text,label\n"b" or c,y\n'))
    assert message.startswith("t.csv, line 2: the record that begins here cannot be read")


def test_duplicate_column_names(here: Path) -> None:
    message = problem(put("t.csv", "\ntext,label,text\n1,2,3\n"))
    assert message.startswith("t.csv, line 2: the column name 'text' appears twice (columns 1 and")


def test_header_without_a_single_name(here: Path) -> None:
    assert problem(put("t.csv", ",,\n1,2,3\n")).startswith("t.csv, line 1: no column has a name.")


def test_header_but_no_rows(here: Path) -> None:
    message = problem(put("t.csv", "text,label\n\n"))
    assert message == "t.csv: the file has a header but no rows. Add at least one row."


# ---- JSON ----


@pytest.mark.parametrize("suffix", ["jsonl", "ndjson", "json"])
def test_jsonl(here: Path, suffix: str) -> None:
    lines = '{"text": "a\u2028b", "n": 1}\r\n\n{"label": true, "text": null}\n'
    table = read_table(put(f"t.{suffix}", lines))
    assert table.columns == {"text": ["a\u2028b", None], "n": [1, None], "label": [None, True]}
    assert (table.rows, table.unit) == ([1, 3], "line")


def test_json_array_counts_rows(here: Path) -> None:
    table = read_table(put("t.json", '\n[\n {"text": "a"},\n {"text": "b"}]\n'))
    assert table.columns == {"text": ["a", "b"]}
    assert table.where(1, "text") == "t.json, row 2, column 'text'"


@settings(max_examples=50, deadline=None)
@given(st.lists(CELL, min_size=1, max_size=5), st.booleans())
def test_json_round_trip(cells: list[str], ascii_only: bool) -> None:
    lines = [json.dumps({"text": cell}, ensure_ascii=ascii_only) for cell in cells]
    assert piped("\n".join(lines)).columns == {"text": cells}


@pytest.mark.parametrize(
    ("content", "start"),
    [
        ('{"a": 1}\n\n{"a" 1}\n', "t.jsonl, line 3, column 6: not valid JSON ("),
        ('{"a": 1}\n{"a":\n', "t.jsonl, line 2, column 6: not valid JSON ("),
        ('{"a": 1}\n[1]\n', "t.jsonl, line 2: found [1], not a JSON object."),
        ('{"a": 1}\nnull\n', "t.jsonl, line 2: found None, not a JSON object."),
        ('[{"a": 1},\n 7]', "t.jsonl, row 2: found 7, not a JSON object."),
        ('[{"a": 1},\n {"a"}]', "t.jsonl, line 2, column 6: not valid JSON ("),
        ('{"a": 1}\n{"a": 1, "b": 2, "a": 3}', "t.jsonl, line 2: not usable JSON (the name 'a' "),
        ("[]", "t.jsonl: the file has no rows."),
        ("{}", "t.jsonl: no column has a name."),
    ],
)
def test_bad_json(here: Path, content: str, start: str) -> None:
    assert problem(put("t.jsonl", content)).startswith(start)


def test_json_nested_beyond_reason(here: Path) -> None:
    deep = '{"a": ' * 200_000
    assert problem(put("t.jsonl", deep)).startswith("t.jsonl, line 1: not usable JSON (")


# ---- Parquet and plain text ----


def write_parquet(name: str, columns: dict[str, list[object]]) -> str:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table(columns), name)
    return name


def test_parquet(here: Path) -> None:
    columns: dict[str, list[object]] = {"text": ["a", None], "n": [1, 2], "x": [0.5, None]}
    table = read_table(write_parquet("t.parquet", columns))
    assert table.columns == columns
    assert [type(value) for value in table.columns["n"]] == [int, int]
    assert table.where(1, "text") == "t.parquet, row 2, column 'text'"
    assert piped(Path("t.parquet").read_bytes(), "parquet").columns == columns


def test_corrupt_parquet(here: Path) -> None:
    whole = Path(write_parquet("t.parquet", {"text": ["a"] * 100})).read_bytes()
    for damaged in (b"PAR1", b"text\nhello\n", whole[: len(whole) // 2]):
        message = problem(put("bad.parquet", damaged))
        assert message.startswith("bad.parquet: the Parquet file cannot be read (")


def test_parquet_without_rows(here: Path) -> None:
    name = write_parquet("t.parquet", {"text": []})
    assert problem(name).startswith("t.parquet: the file has no rows.")


def test_parquet_without_pyarrow(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    message = problem(put("t.parquet", "x"))
    assert message.startswith("t.parquet: ")
    assert message.endswith("Run: pip install pyarrow.")


def test_txt_has_one_text_per_line(here: Path) -> None:
    table = read_table(put("t.txt", 'a, "b"\r\n\n c\u2028d \n'))
    assert table.columns == {"text": ['a, "b"', "", " c\u2028d "]}
    assert (table.rows, table.unit) == ([1, 2, 3], "line")


# ---- files that cannot be read ----


def test_file_not_found(here: Path) -> None:
    for name in ("gone.csv", "data/gone.csv", "./gone", "../gone/x", "gone.xlsx", "a b"):
        assert problem(name).startswith(f"{name}: there is no such file.")
    assert problem("gone", fmt="csv").startswith("gone: there is no such file.")


def test_folder(here: Path) -> None:
    Path("data.csv").mkdir()
    assert problem("data.csv").startswith("data.csv: this is a folder, not a file.")
    Path("folder").mkdir()
    assert problem("folder").startswith("folder: this is a folder, not a file.")


def test_permission_denied(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    put("t.csv", "text\na\n")
    monkeypatch.setattr(Path, "open", refuse)
    assert problem("t.csv").startswith("t.csv: permission to read the file is denied.")


def test_names_that_the_system_refuses(here: Path) -> None:
    assert "the file cannot be read (" in problem("x" * 5000 + ".csv")
    assert "the file cannot be read (" in problem("a\0b.csv")


@pytest.mark.parametrize("content", [b"", b"\n \r\n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "json", "txt"])
def test_empty_file(here: Path, suffix: str, content: bytes) -> None:
    message = problem(put(f"t.{suffix}", content))
    assert message.startswith(f"t.{suffix}: the file is empty.")


def test_empty_parquet_and_empty_stdin(here: Path) -> None:
    assert problem(put("t.parquet", b"")).startswith("t.parquet: the file is empty.")
    assert problem("-", stdin=io.BytesIO()).startswith("stdin: the file is empty.")


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_text_that_is_not_utf8(here: Path, mark: bytes) -> None:
    content = mark + "text,label\r\nfine,a\r\ncafé,b\n".encode("latin-1")
    message = problem(put("t.csv", content))
    offset = content.index(b"\xe9")
    assert message.startswith("t.csv, line 3: the file is not UTF-8 text (byte 0xe9 at byte offset")
    assert f"offset {offset})" in message
    assert "iconv -f WINDOWS-1252 -t UTF-8" in message


def test_utf16_is_named(here: Path) -> None:
    message = problem(put("t.csv", "text\nhi\n".encode("utf-16")))
    assert message.startswith("t.csv, line 1: ")
    assert "iconv -f UTF-16" in message


def test_unknown_suffix_and_unknown_format(here: Path) -> None:
    message = problem(put("t.xlsx", "text\nhi\n"))
    assert message.startswith("t.xlsx: the suffix '.xlsx' is unknown.")
    assert ".parquet" in message
    assert problem(put("plain", "text\nhi\n")).startswith("plain: the file name has no suffix.")
    assert read_table("plain", fmt="csv").columns == {"text": ["hi"]}
    assert problem("plain", fmt="xml").startswith("plain: the format 'xml' is unknown.")


@settings(max_examples=150, deadline=None)
@given(
    st.binary(max_size=40) | st.text('{}[]":,\t\r\nab1 ', max_size=40).map(str.encode),
    st.sampled_from(["auto", "csv", "tsv", "jsonl", "parquet", "txt"]),
)
def test_any_bytes_give_a_table_or_one_sentence(data: bytes, fmt: str) -> None:
    try:
        table = piped(data, fmt)
    except InputError as error:
        assert str(error).startswith("stdin")
    else:
        assert len(table) > 0
        assert {len(cells) for cells in table.columns.values()} == {len(table)}
        assert table.rows == sorted(set(table.rows))


# ---- standard input ----


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        (' \n{"text": "a,b"}', {"text": ["a,b"]}),
        ('\ufeff{"text": "a"}', {"text": ["a"]}),
        ("text\tlabel\na,b\tx\n", {"text": ["a,b"], "label": ["x"]}),
        ("\n\ntext\tlabel\na\tx\n", {"text": ["a"], "label": ["x"]}),
        ("text,la\tbel\na,x\n", {"text": ["a"], "la\tbel": ["x"]}),
        ("text\na\tb\n", {"text": ["a\tb"]}),
    ],
)
def test_stdin_format_is_recognised(content: str, columns: dict[str, list[object]]) -> None:
    table = piped(content)
    assert (table.source, table.columns) == ("stdin", columns)


def test_stdin_format_can_be_named() -> None:
    assert piped("{a}\n{b}\n", "txt").columns == {"text": ["{a}", "{b}"]}
    assert problem("-", stdin=io.BytesIO(b"a,b\n1\n")).startswith("stdin, line 2: the row has 1")


def test_take_keeps_the_row_numbers() -> None:
    table = piped("text\na\nb\nc\n").take([2, 0])
    assert (table.columns, table.rows) == ({"text": ["c", "a"]}, [4, 2])


# ---- dataset ids ----


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("imdb", DatasetId("imdb", None, "train")),
        ("owner/name-v1.1:test", DatasetId("owner/name-v1.1", None, "test")),
        ("glue/sst2:validation", DatasetId("glue", "sst2", "validation")),
        ("owner/name/config", DatasetId("owner/name", "config", "train")),
        ("a/b/c/d", None),
        ("./imdb", None),
        ("../owner/name", None),
        ("/owner/name", None),
        ("owner/data.csv", None),
        ("data.json:train", None),
        ("data.csv.gz", None),
        ("data/tickets.cvs", None),
        ("tickets.parqet", None),
        ("owner/wiki/2023.sv", DatasetId("owner/wiki", "2023.sv", "train")),
        ("données", None),
        ("imdb:", None),
        ("imdb\n", None),
    ],
)
def test_parse_id(source: str, expected: DatasetId | None) -> None:
    assert parse_id(source) == expected


def install(monkeypatch: pytest.MonkeyPatch, load_dataset: object) -> None:
    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))


def test_dataset_id_is_loaded(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []

    def load_dataset(name: str, config: str | None, *, split: str) -> object:
        calls.append((name, config, split))
        return SimpleNamespace(to_dict=lambda: {"sentence": ["a", "b"], "label": [1, 0]})

    install(monkeypatch, load_dataset)
    table = read_table("glue/sst2:validation")
    assert calls == [("glue", "sst2", "validation")]
    assert table.columns == {"sentence": ["a", "b"], "label": [1, 0]}
    assert table.where(1, "label") == "glue/sst2:validation, row 2, column 'label'"


def test_real_dataset_keeps_class_integers(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    kinds = datasets.ClassLabel(names=["neg", "pos"])
    features = datasets.Features({"text": datasets.Value("string"), "label": kinds})
    data = datasets.Dataset.from_dict({"text": ["a", "b"], "label": [1, 0]}, features=features)
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: data)
    assert read_table("owner/name").columns == {"text": ["a", "b"], "label": [1, 0]}


def test_dataset_that_does_not_load(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def load_dataset(*_: object, **__: object) -> object:
        raise ConnectionError("no route\nto the hub")

    install(monkeypatch, load_dataset)
    message = problem("owner/name")
    assert message.startswith("owner/name: no such local file, and loading it as a dataset failed")
    assert "(ConnectionError: no route)" in message
    assert message.endswith("Give a local file; only dataset ids need network access.")


OFFLINE = """
import json, socket, time

def unknown(*_):
    raise socket.gaierror(-2, "Name or service not known")

socket.getaddrinfo = unknown
paused = []
time.sleep = paused.append

from protofit.data.table import read_table
from protofit.errors import InputError

try:
    read_table("glue/sst2:validation")
except InputError as error:
    said = str(error)
import datasets, huggingface_hub
after = [datasets.config.HF_HUB_OFFLINE, huggingface_hub.constants.HF_HUB_OFFLINE]
print(json.dumps([said, paused, after]))
"""


def test_dataset_id_without_a_network_fails_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No attempt is repeated after a pause, and the libraries are left as they were."""
    pytest.importorskip("datasets")
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    said, paused, after = run_fresh(OFFLINE)
    assert said.startswith("glue/sst2:validation: no such local file, and loading it as a dataset")
    assert said.endswith("Give a local file; only dataset ids need network access.")
    assert (paused, after) == ([], [False, False])


def test_dataset_without_rows(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lambda *_, **__: SimpleNamespace(to_dict=lambda: {"text": []}))
    assert problem("owner/name").startswith("owner/name: the dataset has no rows.")


def test_dataset_id_without_the_package(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert "Run: pip install datasets" in problem("owner/name")


def test_local_paths_never_load_a_dataset(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    install(monkeypatch, lambda *args, **_: calls.append(args))
    put("imdb", "text\na\n")
    Path("link").symlink_to("gone")
    problem("imdb")
    problem("gone.csv")
    assert problem("link").startswith("link: there is no such file.")
    assert read_table("imdb", fmt="csv").rows == [2]
    assert calls == []
