"""`protofit serve`: a page and a JSON API over a model, on this machine."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from protofit.cli.options import AsJson, Device, Model
from protofit.errors import InputError

if TYPE_CHECKING:
    from protofit.model.bundle import Bundle

NEEDED = ("fastapi", "uvicorn")


def serve(
    model: Model,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")] = 8000,
    allow_edits: Annotated[
        bool, typer.Option("--allow-edits", help="Let the page edit the model folder.")
    ] = False,
    evaluation: Annotated[
        str | None, typer.Option("--eval", help="Table on which edits show their effect.")
    ] = None,
    device: Device = None,
    as_json: AsJson = False,
) -> None:
    """Serve a page to try the model and a JSON API, until Ctrl-C."""
    _check_extra()
    from protofit.serve.app import LOOPBACK, create_app
    from protofit.serve.run import bind, url_of
    from protofit.serve.run import serve as serve_app

    with bind(host, port) as listener:
        from protofit.cli.output import print_json
        from protofit.cli.predict import load_on
        from protofit.serve.model_desk import ModelDesk

        bundle = load_on(model, device)
        jury = None if evaluation is None else read_jury(bundle, evaluation)
        desk = ModelDesk(bundle, Path(model), jury)
        desk.warm([("a", "b") if bundle.paired else "a"])
        local = listener.getsockname()[0] in LOOPBACK
        app = create_app(desk, allow_edits=allow_edits, hosts=LOOPBACK if local else None)

        def ready() -> None:
            url = url_of(listener)
            if as_json:
                print_json({"url": url, "model": str(model), "edits": allow_edits})
            typer.echo(f"protofit: serving {model} on {url} (Ctrl-C ends)", err=True)
            if not local:
                typer.echo(
                    "protofit: warning: other machines can reach it, and there is no password",
                    err=True,
                )

        serve_app(app, listener, ready)


def _check_extra() -> None:
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise InputError(
            f"{' and '.join(missing)} missing", where="serve", fix="pip install 'protofit[serve]'"
        )


def read_jury(bundle: Bundle, source: str) -> tuple[Any, Any]:
    """Texts and labels of the table that edits are judged on; columns as in training."""
    from protofit.cli.source import Columns, inputs_of, read_rows
    from protofit.data.columns import class_labels, targets

    columns = Columns.remembered(bundle, None, None, None)
    table = read_rows(source, "auto", columns, labelled=True, drop_bad=False)
    labels: Any = (targets if bundle.classes is None else class_labels)(table, columns.label)
    return inputs_of(table, columns), labels
