"""`protofit report`: one HTML page that shows a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from protofit.cli.options import AsJson, Device, DropBad, Format, Model
from protofit.errors import InputError

if TYPE_CHECKING:
    from protofit.cli.source import Columns
    from protofit.model.bundle import Bundle, Inputs

SUFFIXES = (".html", ".htm")


def report(
    model: Model,
    data: Annotated[
        str | None,
        typer.Argument(help="Texts to measure and draw, with labels or without; as in evaluate."),
    ] = None,
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="Its title; the folder by default.")] = None,
    text: Annotated[str | None, typer.Option(help="Column; as in training by default.")] = None,
    text_pair: Annotated[str | None, typer.Option(help="Column of the second texts.")] = None,
    label: Annotated[str | None, typer.Option(help="Column; as in training by default.")] = None,
    fmt: Format = "auto",
    drop_bad_rows: DropBad = False,
    device: Device = None,
    as_json: AsJson = False,
) -> None:
    """Write one self-contained HTML page: quality, map, prototypes, growth, what to check."""
    from protofit.report.library import check_library

    check_library()
    _check(out)
    from protofit.cli.output import print_json
    from protofit.cli.predict import load_on
    from protofit.cli.source import Columns
    from protofit.explain.glance import glance
    from protofit.report.page import report_page
    from protofit.storage.atomic import write_file

    bundle = load_on(model, device)
    inputs: Inputs | None = None
    labels: Any = None
    rows: list[int] | None = None
    if data is not None:
        columns = Columns.remembered(bundle, text, text_pair, label)
        inputs, labels, rows = _texts(
            bundle, data, columns, fmt, drop_bad=drop_bad_rows, named=label
        )
    found = glance(bundle, inputs, labels, rows)
    page = report_page(found, title or Path(model).resolve().name, source=_called(data))
    write_file(out, page)
    if as_json:
        print_json({"model": model, "data": data, "out": str(out), "bytes": len(page.encode())})
    else:
        typer.echo(f"protofit: wrote {out} ({len(page.encode()) / 1e6:.1f} MB)", err=True)


def _called(data: str | None) -> str | None:
    """What the page calls the texts: a file by its name, for the page may be sent away."""
    if data is None or data == "-":
        return data and "standard input"
    return Path(data).name if Path(data).exists() else data


def _check(out: Path) -> None:
    """Refuse early what would fail after the work."""
    from protofit.storage.atomic import check_name, check_writable

    if out.suffix.lower() not in SUFFIXES:
        raise InputError(f"a report is not a '{out.suffix}' file", where=str(out), fix="Use .html.")
    check_name(out)
    if out.is_dir():
        raise InputError("this is a folder", where=str(out), fix="Give the name of a file.")
    check_writable(out.absolute().parent)


def _texts(
    bundle: Bundle, data: str, columns: Columns, fmt: str, *, drop_bad: bool, named: str | None
) -> tuple[Inputs, Any, list[int]]:
    """Texts, their labels where the table has that column (or the user named it), their rows."""
    from protofit.cli.source import inputs_of, labels_of, whole_rows
    from protofit.data.table import read_table

    table = read_table(data, fmt=fmt)  # once: it may be standard input
    labelled = named is not None or columns.label in table.columns
    if drop_bad:
        table = whole_rows(table, columns, labelled=labelled)
    if not labelled:
        return inputs_of(table, columns, allow_empty=True), None, table.rows
    labels, _ = labels_of(table, columns, bundle.classes, bundle.task)
    return inputs_of(table, columns), labels, table.rows
