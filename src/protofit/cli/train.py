"""`protofit train`: a table in, a model folder out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from protofit.cli.options import AsJson, Data, Device, DropBad, Format
from protofit.errors import InputError

if TYPE_CHECKING:
    from protofit.model.bundle import Bundle


def train(
    data: Data,
    text: Annotated[str, typer.Option(help="Column of the texts.")] = "text",
    text_pair: Annotated[
        str | None, typer.Option(help="Column of the second texts, for pairs.")
    ] = None,
    label: Annotated[str, typer.Option(help="Column of the labels or targets.")] = "label",
    task: Annotated[str, typer.Option(help="classification or regression.")] = "classification",
    method: Annotated[str, typer.Option(help="pfit, or another method.")] = "pfit",
    encoder: Annotated[
        str, typer.Option(help="embedded, a Hugging Face folder, or a Hub id.")
    ] = "embedded",
    preset: Annotated[
        str,
        typer.Option(
            help="default (best known), paper (faithful), groups (several prototypes a class), "
            "pf-i, pf-s, pf-d, pf-f, pfit-sc."
        ),
    ] = "default",
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any setting, e.g. head.beta=3; may be repeated."),
    ] = None,
    eval_data: Annotated[
        str | None,
        typer.Option("--eval", help="Labelled data to measure on; never influences training."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Model folder to write.")] = Path("model"),
    seed: Annotated[int, typer.Option(help="Same seed, same machine: the same model.")] = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted run, or start it.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing model folder.")
    ] = False,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Weigh classes by the inverse of their frequency.")
    ] = False,
    keep_index: Annotated[
        bool,
        typer.Option("--keep-index", help="Keep features of the texts with the model: evidence."),
    ] = False,
    keep_texts: Annotated[
        bool, typer.Option("--keep-texts", help="Keep the training texts too; implies the index.")
    ] = False,
    tracker: Annotated[
        str | None, typer.Option(help="A tracker such as tensorboard; logs beside the model.")
    ] = None,
    fmt: Format = "auto",
    drop_bad_rows: DropBad = False,
    device: Device = None,
    as_json: AsJson = False,
) -> None:
    """Train a classifier or regressor on labelled texts."""
    from protofit.cli.job import Job
    from protofit.cli.source import Columns

    job = Job(
        data=data, columns=Columns(text, text_pair, label), task=task, method=method,
        encoder=encoder, preset=preset, assignments=setting or [], seed=seed, out=out,
        resume=resume, overwrite=overwrite, balanced=balanced, fmt=fmt,
        drop_bad=drop_bad_rows, device=device, tracker=tracker,
        keep_index=keep_index, keep_texts=keep_texts,
    )  # fmt: skip
    job.check()
    if data == eval_data == "-":
        raise InputError(
            "standard input can be read only once", where="--eval", fix="Give one as a file."
        )
    inputs, labels, classes, rows = job.examples(data)
    held_out = None if eval_data is None else job.examples(eval_data, classes)

    from protofit.cli.evaluate import figures_of
    from protofit.training.accelerator import is_main_process

    bundle = job.run(job.request(inputs, labels, classes, rows), verbose=0 if as_json else 1)
    if is_main_process():
        figures = None if held_out is None else figures_of(bundle, held_out[0], held_out[1])
        _report(bundle, figures, out, as_json=as_json)


def _report(bundle: Bundle, figures: dict[str, Any] | None, out: Path, *, as_json: bool) -> None:
    from protofit.cli.evaluate import print_figures
    from protofit.cli.info import for_people, summary
    from protofit.cli.output import print_json, print_pairs

    files = sorted(str(path) for path in out.iterdir())
    if as_json:
        print_json({"model": str(out), **summary(bundle), "evaluation": figures, "files": files})
        return
    print_pairs("trained", for_people(summary(bundle)))
    if figures is not None:
        print_figures(figures)
    print_pairs("wrote", {str(out): ", ".join(Path(file).name for file in files)})
