"""`protofit`: the subcommands, and how failures reach a person or a program."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
import warnings
from typing import Any

import typer

from protofit._version import __version__
from protofit.cli.bench import app as bench
from protofit.cli.decoder import decoder
from protofit.cli.edit import edit
from protofit.cli.evaluate import evaluate
from protofit.cli.explain import explain
from protofit.cli.info import info
from protofit.cli.predict import predict
from protofit.cli.report import report
from protofit.cli.serve import serve
from protofit.cli.train import train
from protofit.errors import InputError, ProtoFitError

INTERRUPTED = 130
TERMINATED = 143

app = typer.Typer(
    name="protofit",
    help="Text classification by prototypes that grow, shrink and can be read.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(train)
app.command()(predict)
app.command()(evaluate)
app.command()(info)
app.command()(explain)
app.command()(edit)
app.command()(decoder)
app.command()(report)
app.command()(serve)
app.add_typer(bench, name="bench")


class Terminated(SystemExit):
    """SIGTERM, on its way up: what was being written is taken away as after Ctrl-C."""


def _version(value: bool) -> None:
    if value:
        typer.echo(f"protofit {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """Text classification by prototypes that grow, shrink and can be read."""


def main() -> None:
    """Entry point of the command."""
    _write_utf8()
    signal.signal(signal.SIGTERM, terminate)
    sys.exit(run(sys.argv[1:]))


def terminate(*_: object) -> None:
    """Handler of SIGTERM: end the command, cleaning up on the way."""
    raise Terminated(TERMINATED)


def _write_utf8() -> None:
    """What is written is UTF-8, whatever the locale: predictions are data, and JSON asks for it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def run(arguments: list[str]) -> int:
    """Run the command; returns the exit code: 0, 1 failure, 2 bad input, 130 or 143 stopped."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # two busy processes must not spin
    as_json = "--json" in arguments
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code = app(arguments, standalone_mode=False)
        return _stopped() if code == INTERRUPTED else code or 0
    except ProtoFitError as error:
        return _tell(error, as_json=as_json)
    except (KeyboardInterrupt, Terminated) as stop:
        return _stopped(TERMINATED if isinstance(stop, Terminated) else INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except (OSError, MemoryError) as error:
        return _tell(_machine_failure(error), as_json=as_json)
    except Exception as error:  # noqa: BLE001 - all but usage errors are raised again
        return _usage_or_raise(error, as_json=as_json)


def _machine_failure(error: Exception) -> ProtoFitError:
    if isinstance(error, OSError):
        return ProtoFitError(" ".join(str(error).split()))
    fix = "Use a smaller train.batch_size, encoder.max_length or head.creation.capacity."
    return ProtoFitError("out of memory", fix=fix)


def _usage_or_raise(error: Exception, *, as_json: bool) -> int:
    """Errors of the argument parser, by their shape: typer may carry its own copy of click."""
    if type(error).__name__ == "Abort":
        return _stopped()
    if _asks_for_memory(error):
        return _tell(_machine_failure(error), as_json=as_json)
    if not hasattr(error, "format_message"):
        raise error
    found = error.format_message() or "no command was given"
    return _tell(InputError(found, fix="See: protofit --help"), as_json=as_json)


def _asks_for_memory(error: Exception) -> bool:
    """Whether a tensor did not fit: its library raises a RuntimeError, not a MemoryError."""
    told = ("not enough memory", "can't allocate memory", "out of memory")
    return isinstance(error, RuntimeError) and any(words in str(error) for words in told)


def _stopped(code: int = INTERRUPTED) -> int:
    typer.echo("protofit: stopped", err=True)
    return code


def _tell(error: ProtoFitError, as_json: bool) -> int:
    if as_json:
        fields = {"error": error.found, "where": error.where, "fix": error.fix}
        with contextlib.suppress(OSError):  # standard output may be what failed
            typer.echo(json.dumps(fields, ensure_ascii=False))
    typer.echo(f"protofit: {error}", err=True)
    return error.exit_code


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    typer.echo(f"protofit: warning: {' '.join(str(message).split())}", err=True)
