"""`protofit explain`: why a model says what it says about a text, or about each of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from protofit.cli.options import AsJson, Device, Format, Model
from protofit.errors import InputError

if TYPE_CHECKING:
    from protofit.model.bundle import Bundle


def explain(
    model: Model,
    text: Annotated[
        str, typer.Argument(metavar="TEXT|FILE|-", help="A text, a file of texts, or - for stdin.")
    ],
    second: Annotated[
        str | None, typer.Option(help="The second text, where the model reads pairs.")
    ] = None,
    column: Annotated[
        str | None, typer.Option("--text", help="Column of a file; as in training by default.")
    ] = None,
    text_pair: Annotated[str | None, typer.Option(help="Column of the second texts.")] = None,
    top: Annotated[int, typer.Option(help="Prototypes to list; 0: all.")] = 5,
    neighbours: Annotated[int, typer.Option(help="Training texts to list for each.")] = 3,
    fmt: Format = "auto",
    device: Device = None,
    as_json: AsJson = False,
) -> None:
    """Show the prototypes that carried a prediction, their shares, and what speaks against it."""
    from protofit.cli.predict import load_on

    if top < 0 or neighbours < 0:
        raise InputError("a number is negative", where="--top, --neighbours", fix="Give 0 or more.")
    bundle = load_on(model, device)
    inputs, several = _inputs(bundle, text, second, column, text_pair, fmt)
    from protofit.explain.evidence import explain as explained

    found = explained(bundle, inputs, top=top or None, neighbours=neighbours)
    if as_json:
        from protofit.cli.output import print_json

        shown: Any = [item.to_dict() for item in found]
        print_json(shown if several else shown[0])
        return
    _show(found, bundle)


def _show(found: list[Any], bundle: Bundle) -> None:
    from rich.console import Console

    from protofit.cli.evidence_view import show

    console = Console(highlight=False)
    for i, item in enumerate(found):
        if i:
            console.rule(style="dim")
        show(item, console)
    if bundle.index is None:
        hint = "No training texts are shown: train with --keep-texts to see the nearest ones."
        console.print(hint, style="dim")


def _inputs(
    bundle: Bundle,
    text: str,
    second: str | None,
    column: str | None,
    text_pair: str | None,
    fmt: str,
) -> tuple[Any, bool]:
    """Texts or pairs, and whether they came from a file or standard input."""
    from protofit.data.readers import FORMAT_OF_SUFFIX

    if text == "-" or fmt != "auto" or _is_file(text):
        if second is not None:
            raise InputError("a file was given", where="--second", fix="Use --text-pair COLUMN.")
        return texts_of(bundle, text, column, text_pair, fmt), True
    if "/" in text and Path(text).is_dir():
        raise InputError("this is a folder", where=text, fix="Give a file of texts, or a text.")
    if Path(text).suffix.lower() in FORMAT_OF_SUFFIX and len(text.split()) == 1:
        raise InputError(
            "there is no such file", where=text, fix="Check the path; a text has several words."
        )
    if bundle.paired and second is None:
        raise InputError(
            "the model reads pairs of texts", where="TEXT", fix="Give the other with --second."
        )
    if second is not None and not bundle.paired:
        raise InputError("the model reads single texts", where="--second", fix="Leave it out.")
    check_text(text, "TEXT")
    if second is not None:
        check_text(second, "--second")
    return [text if second is None else (text, second)], False


def check_text(text: str, where: str) -> None:
    """Refuse a text of the command line that is empty, or of bytes that are no UTF-8."""
    from protofit.data.columns import is_unicode

    if not text.strip():
        raise InputError("the text is empty", where=where, fix="Give a text.")
    if not is_unicode(text):
        raise InputError("the text is not UTF-8", where=where, fix="Give it as UTF-8.")


def texts_of(
    bundle: Bundle, source: str, column: str | None, text_pair: str | None, fmt: str
) -> Any:
    """Texts or pairs of a file, or of standard input: a text per line unless the model pairs."""
    from protofit.cli.source import Columns, inputs_of, read_rows

    if fmt == "auto" and (source == "-" or Path(source).suffix.lower() == ".txt"):
        fmt = "auto" if bundle.paired else "txt"
    if fmt == "txt":
        column = column or "text"
    columns = Columns.remembered(bundle, column, text_pair, None)
    return inputs_of(read_rows(source, fmt, columns, labelled=False, drop_bad=False), columns)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False
