"""`protofit predict`: the rows of a table with their predictions."""

from __future__ import annotations

import csv
import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from protofit.cli.options import Data, Device, Format, Model
from protofit.errors import InputError, ProtoFitWarning

if TYPE_CHECKING:
    from protofit.data.table import Table
    from protofit.model.bundle import Bundle

Rows = list[dict[str, Any]]


def predict(
    model: Model,
    data: Data,
    text: Annotated[str | None, typer.Option(help="Column; as in training by default.")] = None,
    text_pair: Annotated[str | None, typer.Option(help="Column of the second texts.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="csv, tsv or jsonl file to write; stdout by default.")
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="One column per class as well.")
    ] = False,
    fmt: Format = "auto",
    device: Device = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print JSON for machines: a line per row, with probabilities; "
            "with --out only its path and number of rows, and the file is as without --json.",
        ),
    ] = False,
) -> None:
    """Predict every row; all columns of DATA are kept."""
    from protofit.cli.source import Columns, inputs_of, read_rows

    kind = _kind(out, as_json=as_json)
    probabilities = probabilities or (as_json and out is None)
    bundle = load_on(model, device)
    if fmt == "txt":
        text = text or "text"
    columns = Columns.remembered(bundle, text, text_pair, None)
    table = read_rows(data, fmt, columns, labelled=False, drop_bad=False)
    _check_free(table, _names(bundle, probabilities=probabilities))
    tokens = bundle.tokens(inputs_of(table, columns, allow_empty=True))
    if tokens.truncated:
        warnings.warn(bundle.cut_words(tokens), ProtoFitWarning, stacklevel=2)
    logits = bundle.logits(tokens)
    rows = _joined(table, _predictions(bundle, logits, probabilities=probabilities))
    rendered = _encodable(_render(rows, kind), table)
    if out is None:
        typer.echo(rendered, nl=False)
    else:
        _write(out, rendered, len(rows), as_json=as_json)


def _write(out: Path, rendered: str, count: int, *, as_json: bool) -> None:
    from protofit.cli.output import print_json
    from protofit.storage.atomic import write_file

    write_file(out, rendered)
    if as_json:
        print_json({"out": str(out), "rows": count})
    else:
        typer.echo(f"protofit: wrote {count} predictions to {out}", err=True)


def load_on(model: str, device: str | None) -> Bundle:
    """The bundle of a folder, on a device."""
    import torch

    from protofit.model.bundle import Bundle
    from protofit.training.accelerator import check_device

    check_device(device)
    bundle = Bundle.load(Path(model))
    bundle.model.to(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    return bundle


def _kind(out: Path | None, *, as_json: bool) -> str:
    """The format to write; what could not be written is refused before the work."""
    from protofit.storage.atomic import check_name, check_writable

    if out is None:
        return "jsonl" if as_json else "csv"
    suffix = out.suffix.lower().lstrip(".")
    if suffix not in ("csv", "tsv", "jsonl"):
        raise InputError(
            f"cannot write '{out.suffix}' files", where=str(out), fix="Use .csv, .tsv or .jsonl."
        )
    check_name(out)
    if out.is_dir():
        raise InputError("this is a folder", where=str(out), fix="Give the name of a file.")
    if not out.absolute().parent.is_dir():
        raise InputError(
            "there is no such folder",
            where=str(out.parent),
            fix="Make it, or choose another --out.",
        )
    check_writable(out.absolute().parent)
    return suffix


def _predictions(bundle: Bundle, logits: Any, *, probabilities: bool) -> Rows:
    import numpy as np

    if bundle.classes is None:
        return [{"prediction": float(value)} for value in logits[:, 0]]
    chances = np.exp(logits.astype(np.float64))
    chances /= chances.sum(axis=1, keepdims=True)
    names = _names(bundle, probabilities=probabilities)
    labels = bundle.classes.classes
    rows: Rows = []
    for chance in chances:
        best = int(chance.argmax())
        shares = map(float, chance) if probabilities else ()
        values = [labels[best], float(chance[best]), *shares]
        rows.append(dict(zip(names, values, strict=True)))
    return rows


def _names(bundle: Bundle, *, probabilities: bool) -> list[str]:
    """The columns that are added to those of the data."""
    if bundle.classes is None:
        return ["prediction"]
    chances = [f"probability_{label}" for label in bundle.classes.classes]
    return ["prediction", "confidence", *(chances if probabilities else [])]


def _check_free(table: Table, names: list[str]) -> None:
    """No column of the data is overwritten."""
    taken = sorted(set(table.columns) & set(names))
    if taken:
        raise InputError(
            f"the data has a column '{taken[0]}' already",
            where=table.source,
            fix="Rename it: predictions are written beside the columns of the data.",
        )


def _joined(table: Table, predictions: Rows) -> Rows:
    """Columns of the data, then the predictions."""
    return [
        {**{name: cells[i] for name, cells in table.columns.items()}, **row}
        for i, row in enumerate(predictions)
    ]


def _encodable(text: str, table: Table) -> str:
    """`text`, if it can be written as UTF-8; else the cell that keeps it from that is named."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        half = text[error.start]
        places = [
            table.where(i, name)
            for name, cells in table.columns.items()
            for i, cell in enumerate(cells)
            if half in str(cell)
        ]
        raise InputError(
            f"the cell holds {half!r}, which is half of a character",
            where=places[0] if places else table.source,
            fix="Remove that column or repair the escape.",
        ) from error
    return text


def _render(rows: Rows, kind: str) -> str:
    if kind == "jsonl":
        from protofit.cli.output import json_line

        lines = [json_line(row) for row in rows]
        return "".join(f"{line}\n" for line in lines)
    text = io.StringIO(newline="")
    delimiter = "\t" if kind == "tsv" else ","
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
