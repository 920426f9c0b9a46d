"""`protofit info`: what a model folder holds and how it came about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from protofit.cli.options import AsJson, Model

if TYPE_CHECKING:
    from protofit.model.bundle import Bundle
    from protofit.storage.trace import Row

ROWS_SHOWN = 16
TRACE_HEADINGS = {  # columns of the trace worth a person's glance
    "step": "step",
    "loss": "loss",
    "accuracy": "accuracy",
    "squared_error": "squared error",
    "prototypes": "K",
    "creation_sqdist": "λ",
    "variance": "σ",
    "temperature": "τ",
    "created": "created",
    "pruned": "pruned",
}


def info(model: Model, as_json: AsJson = False) -> None:
    """Show the record, the settings and the trace of K, λ, σ, created and pruned."""
    from protofit.cli.output import print_json, print_pairs
    from protofit.decoder.attach import quality_of
    from protofit.model.bundle import Bundle

    bundle = Bundle.load(Path(model))
    decoder = quality_of(bundle)
    changed = bundle.settings.differences()
    if as_json:
        full = {
            **summary(bundle),
            "settings": bundle.settings.to_dict(),
            "changed_settings": changed,
            "record": bundle.record,
            "prototypes": prototypes(bundle),
            "decoder": None if decoder is None else decoder.to_dict(),
            "trace": bundle.trace,
        }
        print_json(full)
        return
    print_pairs(model, {**for_people(summary(bundle)), "changed settings": changed or "none"})
    rows = prototypes(bundle)
    if rows:
        per_class: dict[str, int] = {}
        for row in rows:
            per_class[str(row["label"])] = per_class.get(str(row["label"]), 0) + 1
        print_pairs("prototypes", per_class)
    if decoder is not None:
        print_pairs("decoder", decoder.figures)
    _print_trace(bundle.trace)


def summary(bundle: Bundle) -> dict[str, Any]:
    """The few facts a person asks first."""
    record = bundle.record
    facts: dict[str, Any] = {
        "task": bundle.task,
        "method": f"{bundle.settings.method} ({bundle.settings.preset} preset)",
        "encoder": record.get("encoder"),
        "examples": record.get("examples"),
        "classes": None if bundle.classes is None else bundle.classes.to_json(),
        "steps": record.get("steps"),
        "seconds": record.get("seconds"),
        "seed": record.get("seed"),
    }
    last = record.get("last_step", {})
    if "prototypes" in last:
        facts["K"] = len(prototypes(bundle))
        facts.update({name: int(last[name]) for name in ("created", "pruned")})
    return facts


def for_people(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts of `summary` with K, created and pruned on one line."""
    if "K" not in facts:
        return facts
    shown = {name: fact for name, fact in facts.items() if name not in ("created", "pruned")}
    return {**shown, "K": "{K} ({created} created, {pruned} pruned)".format(**facts)}


def prototypes(bundle: Bundle) -> list[dict[str, Any]]:
    """Row, class (or bin), birth step and outputs of each active prototype."""
    bank = getattr(bundle.model.head, "bank", None)
    if bank is None:
        return []
    names = None if bundle.classes is None else bundle.classes.to_json()
    return [
        {
            "row": int(row),
            "label": int(bank.labels[row]) if names is None else names[int(bank.labels[row])],
            "born": int(bank.born[row]),
            "outputs": [round(float(value), 4) for value in bank.outputs[row].detach()],
        }
        for row in bank.active.nonzero().flatten()
    ]


def _print_trace(trace: list[Row]) -> None:
    from rich.console import Console
    from rich.table import Table

    if not trace:
        return
    stride = max(1, -(-len(trace) // ROWS_SHOWN))
    shown = [*trace[:-1:stride], trace[-1]]
    console = Console()
    console.print(f"trace ({len(trace)} steps; all in trace.csv)", style="bold", highlight=False)
    table = Table()
    names = [name for name in TRACE_HEADINGS if name in trace[-1]]
    for name in names:
        table.add_column(TRACE_HEADINGS[name], justify="right")
    for row in shown:
        table.add_row(*[f"{row[name]:.4g}" for name in names])
    console.print(table)
