"""`protofit decoder`: fit a text decoder on a trained model, and read the prototypes it decodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from protofit.cli.options import AsJson, Device, Format, Model
from protofit.cli.target import check_target
from protofit.errors import InputError

if TYPE_CHECKING:
    from protofit.decoder.quality import Quality
    from protofit.model.bundle import Bundle

PRIVATE = "a decoder can repeat the texts it was fitted on: do not share it if they are private"


def decoder(
    model: Model,
    data: Annotated[
        str | None, typer.Argument(help="Training texts to fit on. None: show what there is.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder to save the model in; it may be MODEL. None: only show."),
    ] = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Take the decoder off instead of fitting one.")
    ] = False,
    text: Annotated[str | None, typer.Option(help="Column; as in training by default.")] = None,
    text_pair: Annotated[str | None, typer.Option(help="Column of the second texts.")] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same machine: the same decoder.")] = 0,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace another model in --out.")
    ] = False,
    fmt: Format = "auto",
    device: Device = None,
    as_json: AsJson = False,
) -> None:
    """Turn prototypes back into text; the encoder stays as it is, a tenth of DATA measures it."""
    if remove and data is not None:
        raise InputError("a decoder is fitted or removed", where="--remove", fix="Leave out DATA.")
    if out is not None:
        check_target(out, Path(model), overwrite=overwrite)
    from protofit.cli.predict import load_on

    bundle = load_on(model, device)
    if remove:
        _remove(bundle)
    elif data is not None:
        _fit(bundle, data, text, text_pair, fmt, seed)
    if out is not None:
        bundle.save(out)
    _report(bundle, out, changed=remove or data is not None, as_json=as_json)


def _fit(
    bundle: Bundle, data: str, text: str | None, text_pair: str | None, fmt: str, seed: int
) -> None:
    from protofit.cli.explain import texts_of
    from protofit.decoder.attach import fit_decoder

    texts = texts_of(bundle, data, text, text_pair, fmt)
    typer.echo(f"protofit: {PRIVATE}", err=True)
    typer.echo(f"protofit: fitting a decoder on {len(texts)} texts", err=True)
    fit_decoder(bundle, texts, seed=seed)


def _remove(bundle: Bundle) -> None:
    from protofit.decoder.attach import detach

    if not detach(bundle):
        raise InputError("the model has no decoder", where="--remove")


def _report(bundle: Bundle, out: Path | None, *, changed: bool, as_json: bool) -> None:
    from protofit.decoder.attach import quality_of

    quality = quality_of(bundle)
    if quality is None and not changed:
        raise InputError(
            "the model has no decoder", fix="Fit one: protofit decoder MODEL DATA --out MODEL2."
        )
    rows = [] if quality is None else _decoded(bundle)
    if as_json:
        from protofit.cli.output import print_json

        saved = None if out is None else str(out)
        figures = None if quality is None else quality.to_dict()
        print_json({"decoder": figures, "prototypes": rows, "saved": saved})
        return
    if quality is not None:
        _print(quality, rows)
    if out is not None:
        typer.echo(f"protofit: wrote {out}", err=True)
    elif changed:
        typer.echo("protofit: nothing is saved; give --out to keep it", err=True)


def _decoded(bundle: Bundle) -> list[dict[str, Any]]:
    """Row, name, label and decoded text of each prototype; none for a method without any."""
    from protofit.explain.decoded import decoded
    from protofit.explain.reading import Reading

    if bundle.model.head.prototypes() is None:
        return []
    reading = Reading.of(bundle)
    return [
        {"row": row, "name": reading.name(k), "label": reading.labels_of(k),
         "decoded": decoded(reading, k)}
        for k, row in enumerate(reading.rows)
    ]  # fmt: skip


def _print(quality: Quality, rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.text import Text

    from protofit.cli.output import print_pairs
    from protofit.explain.wording import safe

    print_pairs("decoder", quality.figures)
    console = Console(highlight=False)
    for row in rows:
        line = Text(f"{row['row']:>5}  ", style="dim")
        line.append(f"{safe(row['name'])}  ", style="bold")
        line.append(f"“{safe(row['decoded'])}”")
        console.print(line, soft_wrap=True)
