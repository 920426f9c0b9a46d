"""`protofit edit`: change prototypes, see the effect, keep it as a new version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from protofit.cli.options import AsJson, Device, Format, Model
from protofit.cli.target import check_target
from protofit.errors import InputError
from protofit.report.wording import counted

if TYPE_CHECKING:
    from protofit.explain.editor import Editor
    from protofit.explain.results import Effect

USAGE = {
    "rename": "rename ROW NAME",
    "delete": "delete ROW",
    "merge": "merge ROW ROW…",
    "replace": "replace ROW",
    "add": "add LABEL [TEXT]…",
    "add-class": "add-class NAME [TEXT]…",
    "undo": "undo",
    "history": "history",
}
CHANGED_SHOWN = 10


@dataclass(frozen=True)
class Asked:
    """An edit as it was typed."""

    action: str
    words: list[str]
    texts: list[Any]  # of --texts
    force: bool

    @property
    def usage(self) -> str:
        """How the edit is written."""
        return f"Write: protofit edit MODEL {USAGE[self.action]}."

    def row(self, i: int = 0) -> int:
        """A word that must be the row of a prototype."""
        word = self.words[i]
        if not word.isdigit():
            raise InputError(
                f"'{word}' is not the row of a prototype", where=self.action, fix=self.usage
            )
        return int(word)


def edit(
    model: Model,
    action: Annotated[str, typer.Argument(help=", ".join(USAGE))],
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[WORD]...", help="Rows, a name, a label, texts.")
    ] = None,
    texts: Annotated[
        str | None, typer.Option(help="File of texts for add and add-class, or - for stdin.")
    ] = None,
    eval_data: Annotated[
        str | None, typer.Option("--eval", help="Labelled data to show the effect on.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder to save the new version in; it may be MODEL. None: only show."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace another model in --out.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Delete the last prototype of a class, too.")
    ] = False,
    fmt: Format = "auto",
    device: Device = None,
    as_json: AsJson = False,
) -> None:
    """Rename, delete, merge or add prototypes, add a class, undo; nothing is trained."""
    if action not in USAGE:
        raise InputError(
            f"there is no edit '{action}'", where="edit", fix=f"Choose one of: {', '.join(USAGE)}."
        )
    from protofit.cli.predict import load_on
    from protofit.explain.editor import Editor

    if out is not None:
        check_target(out, Path(model), overwrite=overwrite)
    bundle = load_on(model, device)
    editor = Editor(bundle)
    if action == "history":
        _print_history(editor, as_json=as_json)
        return
    asked = Asked(action, words or [], _texts(bundle, texts, fmt), force)
    if eval_data is not None:
        _judge(editor, eval_data, fmt)
    effect = _act(editor, asked)
    if out is not None:
        editor.save(out)
    _report(effect, editor, out, as_json=as_json)


def _act(editor: Editor, asked: Asked) -> Effect:
    least = {"rename": 2, "delete": 1, "merge": 2, "replace": 1, "add": 1, "add-class": 1}
    most = {"rename": 2, "delete": 1, "replace": 1, "undo": 0}
    count = len(asked.words)
    if count < least.get(asked.action, 0) or count > most.get(asked.action, count):
        raise InputError(
            f"it cannot be done with {counted(count, 'word')}", where=asked.action, fix=asked.usage
        )
    actions: dict[str, Callable[[], Effect]] = {
        "rename": lambda: editor.rename(asked.row(), asked.words[1]),
        "delete": lambda: editor.delete(asked.row(), force=asked.force),
        "merge": lambda: editor.merge([asked.row(i) for i in range(count)]),
        "replace": lambda: editor.replace(asked.row()),
        "add": lambda: editor.add(_all_texts(asked), asked.words[0]),
        "add-class": lambda: editor.add_class(asked.words[0], _all_texts(asked)),
        "undo": editor.undo,
    }
    return actions[asked.action]()


def _all_texts(asked: Asked) -> list[Any]:
    from protofit.cli.explain import check_text

    for text in asked.words[1:]:
        check_text(text, asked.action)
    found = [*asked.words[1:], *asked.texts]
    if not found:
        fix = f"{asked.usage} Or give a file: --texts FILE."
        raise InputError("there are no texts", where=asked.action, fix=fix)
    return found


def _texts(bundle: Any, source: str | None, fmt: str) -> list[Any]:
    from protofit.cli.explain import texts_of

    return [] if source is None else list(texts_of(bundle, source, None, None, fmt))


def _judge(editor: Editor, data: str, fmt: str) -> None:
    """Labels may be of a class that the edit is about to add."""
    from protofit.cli.source import Columns, inputs_of, labels_of, read_rows
    from protofit.data.columns import class_labels

    bundle = editor.bundle
    columns = Columns.remembered(bundle, None, None, None)
    table = read_rows(data, fmt, columns, labelled=True, drop_bad=False)
    if bundle.classes is None:
        labels: Any = labels_of(table, columns, None, bundle.task)[0]
    else:
        labels = class_labels(table, columns.label)
    editor.judge(inputs_of(table, columns), labels)


def _report(effect: Effect, editor: Editor, out: Path | None, *, as_json: bool) -> None:
    if as_json:
        from protofit.cli.output import print_json

        saved = None if out is None else str(out)
        print_json({**effect.to_dict(), "saved": saved, "history": editor.history})
        return
    _print_effect(effect)
    if out is None:
        typer.echo("protofit: nothing is saved; give --out to keep it", err=True)
    else:
        typer.echo(f"protofit: wrote {out}", err=True)


def _print_effect(effect: Effect) -> None:
    from rich.console import Console
    from rich.table import Table

    from protofit.cli.output import shown
    from protofit.explain.wording import safe

    console = Console(highlight=False)
    console.print(safe(effect.description), style="bold", markup=False)
    table = Table(box=None, pad_edge=False)
    for heading in ("", "before", "after"):
        table.add_column(heading, justify="left" if not heading else "right")
    table.add_row("prototypes", *map(str, effect.prototypes))
    for name in {**effect.before, **effect.after}:
        table.add_row(name, shown(effect.before.get(name)), shown(effect.after.get(name)))
    console.print(table)
    if effect.before:
        console.print(f"{counted(effect.changed_count, 'prediction')} changed")
    for row in effect.changed[:CHANGED_SHOWN]:
        console.print(_changed(row, console.width), style="dim", markup=False, soft_wrap=True)
    if effect.changed_count > CHANGED_SHOWN:
        more = f"  and {effect.changed_count - CHANGED_SHOWN} more; --json lists up to 100"
        console.print(more, style="dim")


def _changed(row: Any, width: int) -> str:
    from protofit.explain.wording import safe, shortened

    labels = (row.before, row.after, row.truth)
    names = [f"{v:.4g}" if isinstance(v, float) else safe(str(v)) for v in labels]
    start = f"  {names[0]} → {names[1]} (truth: {names[2]})  "
    return f"{start}“{shortened(row.text, max(20, width - len(start) - 2))}”"


def _print_history(editor: Editor, *, as_json: bool) -> None:
    if as_json:
        from protofit.cli.output import print_json

        print_json(editor.history)
        return
    from protofit.explain.wording import safe

    if not editor.history:
        typer.echo("no edits")
    for number, note in enumerate(editor.history, 1):
        typer.echo(safe(f"{number}  {note.get('when', '')}  {note.get('description', '')}"))
