"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Data = Annotated[
    str, typer.Argument(help="csv, tsv, jsonl or parquet file, - for stdin, or a datasets id.")
]
Model = Annotated[str, typer.Argument(help="Model folder.")]
Format = Annotated[
    str, typer.Option("--format", help="auto, csv, tsv, jsonl, parquet or txt (a text per line).")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
DropBad = Annotated[
    bool, typer.Option("--drop-bad-rows", help="Drop rows without text or label, and count them.")
]
Device = Annotated[str | None, typer.Option(help="cpu, cuda or mps; the best there is by default.")]
