"""`protofit evaluate`: figures of a model on labelled data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from protofit.cli.options import AsJson, Data, Device, DropBad, Format, Model

if TYPE_CHECKING:
    import numpy as np

    from protofit.cli.source import Columns
    from protofit.model.bundle import Bundle, Inputs


def evaluate(
    model: Model,
    data: Data,
    text: Annotated[str | None, typer.Option(help="Column; as in training by default.")] = None,
    text_pair: Annotated[str | None, typer.Option(help="Column of the second texts.")] = None,
    label: Annotated[str | None, typer.Option(help="Column; as in training by default.")] = None,
    fmt: Format = "auto",
    drop_bad_rows: DropBad = False,
    device: Device = None,
    as_json: AsJson = False,
) -> None:
    """Measure accuracy, macro-F1, log-loss, ECE and confusion; or MSE and correlations."""
    from protofit.cli.output import print_json
    from protofit.cli.predict import load_on
    from protofit.cli.source import Columns

    bundle = load_on(model, device)
    columns = Columns.remembered(bundle, text, text_pair, label)
    figures = measure(bundle, data, columns, fmt, drop_bad=drop_bad_rows)
    if as_json:
        print_json({"model": model, "data": data, **figures})
    else:
        print_figures(figures)


def measure(
    bundle: Bundle, data: str, columns: Columns, fmt: str, *, drop_bad: bool
) -> dict[str, Any]:
    """Figures of the bundle on a labelled table."""
    from protofit.cli.source import inputs_of, labels_of, read_rows

    table = read_rows(data, fmt, columns, labelled=True, drop_bad=drop_bad)
    labels, _ = labels_of(table, columns, bundle.classes, bundle.task)
    return figures_of(bundle, inputs_of(table, columns), labels)


def figures_of(bundle: Bundle, inputs: Inputs, labels: np.ndarray) -> dict[str, Any]:
    """Figures of the bundle on texts and class indices, or targets."""
    from protofit.evaluation.metrics import classification_metrics, regression_metrics

    tokens = bundle.tokens(inputs)
    logits = bundle.logits(tokens)
    if bundle.classes is None:
        figures = regression_metrics(logits[:, 0], labels)
    else:
        figures = classification_metrics(logits, labels)
        figures["classes"] = bundle.classes.to_json()
    return {**figures, "truncated": tokens.truncated}


def print_figures(figures: dict[str, Any]) -> None:
    """A short table, and the confusion where it fits a screen."""
    from protofit.cli.output import print_confusion, print_pairs

    hidden = ("confusion", "classes")
    print_pairs("held-out", {k: v for k, v in figures.items() if k not in hidden})
    if "confusion" in figures and len(figures["classes"]) <= 12:
        print_confusion(figures["confusion"], [str(name) for name in figures["classes"]])
