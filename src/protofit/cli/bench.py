"""`protofit bench`: plan, run, tabulate and plot an experiment from its spec."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from protofit.cli.options import AsJson, Device
from protofit.errors import InputError

if TYPE_CHECKING:
    from protofit.bench.runner import Bench

app = typer.Typer(no_args_is_help=True, help="Compare methods: plan, run, table, plot.")

SPECS = Path("benchmarks/specs")
SpecFile = Annotated[Path, typer.Argument(metavar="SPEC.toml", help="The experiment.")]
SpecFiles = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[SPEC.toml]...", help="Those in benchmarks/specs by default."),
]
DataDir = Annotated[Path | None, typer.Option(help="Folder of the data sets' folders.")]
WeightsDir = Annotated[Path | None, typer.Option(help="Folder of the encoders' folders.")]
RecordsDir = Annotated[
    Path | None, typer.Option(help="Folder of the records; ../records/bench of the spec's folder.")
]
Workers = Annotated[int, typer.Option(help="Processes side by side.")]
ShardOption = Annotated[str | None, typer.Option("--shard", help="i/n: the i-th of n parts.")]
EngineOption = Annotated[str, typer.Option("--engine", help="auto, loop, or fleet (on a GPU).")]
Ray = Annotated[bool, typer.Option("--ray", help="Run as Ray tasks; RAY_ADDRESS names a cluster.")]
MixVersions = Annotated[
    bool, typer.Option("--mix-versions", help="Keep records of other code versions as they are.")
]
Minutes = Annotated[float | None, typer.Option(help="Begin no run that would end later than this.")]
Code = Annotated[str | None, typer.Option("--code", help="Only records of this code version.")]
PeersPython = Annotated[
    Path | None, typer.Option(help="Python of the environment that holds the external arms.")
]


@app.command()
def plan(
    spec: SpecFile,
    data_dir: DataDir = None,
    weights_dir: WeightsDir = None,
    records_dir: RecordsDir = None,
    workers: Workers = 1,
    shard: ShardOption = None,
    engine: EngineOption = "auto",
    mix_versions: MixVersions = False,
    peers_python: PeersPython = None,
    as_json: AsJson = False,
) -> None:
    """Show how many runs there are, how many are done, and how long the rest may take."""
    found = _bench(
        spec, data_dir, weights_dir, records_dir, workers, shard, engine, peers_python,
        mix_versions=mix_versions,
    ).plan()  # fmt: skip
    if as_json:
        _print_json(found)
    else:
        _print_plan(found)


@app.command()
def run(
    spec: SpecFile,
    data_dir: DataDir = None,
    weights_dir: WeightsDir = None,
    records_dir: RecordsDir = None,
    workers: Workers = 1,
    shard: ShardOption = None,
    engine: EngineOption = "auto",
    ray: Ray = False,
    mix_versions: MixVersions = False,
    peers_python: PeersPython = None,
    device: Device = None,
    minutes: Minutes = None,
    as_json: AsJson = False,
) -> None:
    """Run what is not recorded yet; may be killed and run again at any time."""
    from protofit.bench.progress import make_listener

    bench = _bench(
        spec, data_dir, weights_dir, records_dir, workers, shard, engine, peers_python,
        mix_versions=mix_versions, ray=ray, device=device, minutes=minutes,
    )  # fmt: skip
    done = bench.run(make_listener(quiet=as_json))
    if as_json:
        _print_json(done)
    else:
        _print_pairs(done)


@app.command()
def table(
    specs: SpecFiles = None,
    records_dir: RecordsDir = None,
    code: Code = None,
    mix_versions: MixVersions = False,
    out: Annotated[Path | None, typer.Option(help="Markdown file; stdout by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print all tables of the records as Markdown."""
    from protofit.bench.report import write_tables

    paths = _specs(specs)
    text = write_tables(paths, _records_dir(paths, records_dir), code=code, mix=mix_versions)
    if out is not None:
        from protofit.storage.atomic import write_file

        write_file(out, text)
        typer.echo(f"protofit: wrote {out}", err=True)
    if as_json:
        _print_json({"out": str(out)} if out else {"markdown": text})
    elif out is None:
        typer.echo(text)


@app.command()
def plot(
    specs: SpecFiles = None,
    records_dir: RecordsDir = None,
    code: Code = None,
    mix_versions: MixVersions = False,
    out: Annotated[Path, typer.Option(help="Folder of the figures.")] = Path("docs/figures"),
    as_json: AsJson = False,
) -> None:
    """Draw all figures of the records."""
    from protofit.bench.report import write_plots

    paths = _specs(specs)
    folder = _records_dir(paths, records_dir)
    files = [str(f) for f in write_plots(paths, folder, out, code=code, mix=mix_versions)]
    if as_json:
        _print_json({"files": files})
    elif not files:
        typer.echo("protofit: no figure can be drawn of these records yet", err=True)
    else:
        typer.echo("\n".join(files))


def _bench(
    spec: Path,
    data_dir: Path | None,
    weights_dir: Path | None,
    records_dir: Path | None,
    workers: int,
    shard: str | None,
    engine: str,
    peers_python: Path | None,
    *,
    mix_versions: bool,
    ray: bool = False,
    device: str | None = None,
    minutes: float | None = None,
) -> Bench:
    from protofit.bench.spec import read_spec

    read_spec(spec)  # a wrong spec is said before the heavy imports
    for name, folder in (("--data-dir", data_dir), ("--weights-dir", weights_dir)):
        if folder is not None and not folder.is_dir():
            raise InputError(f"there is no folder {folder}", where=name, fix="Check the path.")
    if peers_python is not None and not peers_python.is_file():
        raise InputError(
            f"there is no file {peers_python}", where="--peers-python", fix="Name a python."
        )
    from protofit.bench.plan import Shard
    from protofit.bench.runner import Bench, Options
    from protofit.bench.workbench import Places

    places = Places(
        data_dir=data_dir,
        weights_dir=weights_dir,
        device=device,
        peers_python=None if peers_python is None else str(peers_python),
        peers_dir=spec.absolute().parent.parent / "peers",
    )
    options = Options(
        places=places, records_dir=records_dir, workers=workers, shard=Shard.parse(shard),
        engine=engine, ray=ray, mix_versions=mix_versions, minutes=minutes,
    )  # fmt: skip
    return Bench(spec, options)


def _specs(specs: list[Path] | None) -> list[Path]:
    found = specs or sorted(SPECS.glob("*.toml"))
    if not found:
        raise InputError("there are no specs", where=str(SPECS), fix="Name one: SPEC.toml.")
    return found


def _records_dir(specs: list[Path], folder: Path | None) -> Path:
    from protofit.bench.spec import records_folder

    return folder or records_folder(specs[0])


def _print_json(value: dict[str, Any]) -> None:
    from protofit.cli.output import print_json

    print_json(value)


def _print_pairs(values: dict[str, Any]) -> None:
    from protofit.cli.output import print_pairs

    shown = {name.replace("_", " "): value for name, value in values.items() if name != "spec"}
    reasons = shown.pop("skipped because", None)
    if reasons:
        shown["skipped because"] = "; ".join(f"{why} ({n} runs)" for why, n in reasons.items())
    print_pairs(values["spec"], shown)


def _print_plan(found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    cells = found["cells"]
    hidden = ("cells", "estimate_for", "estimate_seconds", "recorded_by", "runs_without_estimate")
    facts = {name: value for name, value in found.items() if name not in hidden and value != {}}
    _print_pairs({**facts, "time_left": time_left(found)})
    sizes = sorted({cell["size"] for cell in cells})
    table = Table("data", "arm", *[str(size) for size in sizes])
    grid: dict[tuple[str, str], dict[int, str]] = {}
    for cell in cells:
        text = f"{cell['done']}/{cell['runs']}"
        if cell["skipped"]:
            text += " skipped"
        grid.setdefault((cell["data"], cell["arm"]), {})[cell["size"]] = text
    for (data, arm), row in grid.items():
        table.add_row(data, arm, *[row.get(size, "–") for size in sizes])
    Console().print(table)


def time_left(found: dict[str, Any]) -> str:
    """How long what is left may take, by what this engine has recorded on this device."""
    if not found["waiting"]:
        return "none"
    unknown, here = found["runs_without_estimate"], found["estimate_for"]
    if unknown == found["waiting"]:
        others = ", ".join(found["recorded_by"])
        known = f" ({here}), only {others}" if others else ""
        return f"unknown: no such run has been recorded{' here' if others else ''}{known}"
    text = f"about {found['estimate_seconds'] / 60:.1f} minutes ({here})"
    return f"{text}, and {unknown} runs of unknown length" if unknown else text
