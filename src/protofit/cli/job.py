"""A training job of the command: check everything first, then train, then put in place."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from protofit.cli.source import Columns, inputs_of, labels_of, read_rows
from protofit.errors import InputError, ModelFolderError
from protofit.storage.atomic import check_name, check_writable, remove_folder, sweep
from protofit.storage.manifest import refuse_foreign

if TYPE_CHECKING:
    import numpy as np

    from protofit.data.labels import ClassOrder
    from protofit.estimators.fitting import Request
    from protofit.model.bundle import Bundle, Inputs

TASKS = ("classification", "regression")


@dataclass(frozen=True)
class Job:
    """What the user asked for."""

    data: str
    columns: Columns
    task: str
    method: str
    encoder: str
    preset: str
    assignments: list[str]
    seed: int
    out: Path
    resume: bool
    overwrite: bool
    balanced: bool
    fmt: str
    drop_bad: bool
    device: str | None
    tracker: str | None
    keep_index: bool = False
    keep_texts: bool = False

    @property
    def run_folder(self) -> Path:
        """Where an unfinished run keeps its checkpoint: beside the model folder, never in it."""
        return self.out.absolute().with_name(f"{self.out.absolute().name}.run")

    def check(self) -> None:
        """Refuse early what would fail, or destroy, at the end."""
        if self.task not in TASKS:
            raise InputError(
                f"there is no task '{self.task}'", where="--task", fix=f"Use {' or '.join(TASKS)}."
            )
        if self.balanced and self.task == "regression":
            raise InputError(
                "a regression has no classes to balance", where="--balanced", fix="Leave it out."
            )
        if self.columns.label in (self.columns.text, self.columns.pair):
            raise InputError(
                f"the column '{self.columns.label}' is named as text and as label",
                where="--label",
                fix="Name another column: the answer would stand in the text.",
            )
        self._check_out()

    def _check_out(self) -> None:
        out = self.out
        check_name(out)
        if out.exists() and not out.is_dir():
            raise InputError("this is a file", where=str(out), fix="Name a folder for --out.")
        refuse_foreign(out, "Choose another --out.")
        if out.is_dir() and any(out.iterdir()) and not (self.resume or self.overwrite):
            raise InputError(
                "the folder exists already",
                where=str(out),
                fix="Choose another --out, or give --overwrite.",
            )
        check_writable(out.absolute().parent)
        self._tidy()
        if (self.run_folder / "checkpoint").exists() and not (self.resume or self.overwrite):
            raise InputError(
                "an unfinished run is waiting",
                where=str(self.run_folder),
                fix="Give --resume to continue it, or --overwrite to start anew.",
            )

    def examples(
        self, source: str, classes: ClassOrder | None = None
    ) -> tuple[Inputs, np.ndarray, ClassOrder | None, list[int]]:
        """Checked texts and labels of a table, the class order, and the numbers of the rows."""
        table = read_rows(source, self.fmt, self.columns, labelled=True, drop_bad=self.drop_bad)
        inputs = inputs_of(table, self.columns)
        return inputs, *labels_of(table, self.columns, classes, self.task), table.rows

    def request(
        self,
        inputs: Inputs,
        labels: np.ndarray,
        classes: ClassOrder | None,
        rows: list[int] | None = None,
    ) -> Request:
        """All of it as the one training function wants it."""
        import numpy as np

        from protofit.config.fields import parse_assignments
        from protofit.estimators.classifier import class_weights
        from protofit.estimators.fitting import Request, keep_of
        from protofit.settings import Settings
        from protofit.training.loop import RunOptions

        overrides: dict[str, Any] = dict(parse_assignments(self.assignments))
        settings = Settings.build(self.preset, self.method, overrides)
        per_class = None
        if self.balanced and classes is not None:
            per_class = class_weights("balanced", labels, classes)
        logs = self.out.absolute().with_name(f"{self.out.absolute().name}.logs")
        options = RunOptions(
            device=self.device,
            checkpoint=self.run_folder / "checkpoint",
            resume=self.resume,
            tracker=self.tracker,
            tracker_dir=logs if self.tracker else None,
        )
        weights = None if per_class is None else per_class[labels]
        return Request(
            inputs, labels, classes, settings, self.encoder, weights, self.seed, options,
            keep=keep_of(index=self.keep_index, texts=self.keep_texts),
            rows=None if rows is None else np.asarray(rows),
        )  # fmt: skip

    def run(self, request: Request, verbose: int) -> Bundle:
        """Train, or find the run finished; the model folder is in place afterwards."""
        from protofit.encoders.resolve import resolve_encoder
        from protofit.estimators.classifier import remember_class_weight
        from protofit.estimators.fitting import fingerprint, train
        from protofit.estimators.progress import make_reporter
        from protofit.training.accelerator import is_main_process

        mark = fingerprint(request, resolve_encoder(request.encoder))
        done = self._finished(mark)
        if done is not None:
            self._add_index(done, request)
            return done
        if not self.resume and is_main_process():
            self._forget_run()
        bundle = train(request, make_reporter(verbose))
        columns = self.columns
        bundle.record["columns"] = {
            "text": columns.text, "pair": columns.pair, "label": columns.label,
        }  # fmt: skip
        bundle.record["fingerprint"] = mark
        remember_class_weight(bundle, "balanced" if self.balanced else None)
        if is_main_process():
            bundle.save(self.out)
            self._forget_run()
        return bundle

    def _add_index(self, bundle: Bundle, request: Request) -> None:
        """Give a finished model the index that this call asks for and that it lacks."""
        from protofit.estimators.fitting import keep_index

        index = bundle.index
        enough = index is not None and (request.keep != "texts" or index.texts is not None)
        if request.keep != "nothing" and not enough:
            keep_index(bundle, request)
            bundle.save(self.out)

    def _forget_run(self) -> None:
        """Remove the checkpoint, and its folder if nothing else is in it."""
        if self.run_folder.is_dir():
            remove_folder(self.run_folder / "checkpoint")
            self._tidy()

    def _tidy(self) -> None:
        """Remove what killed processes left, and the run folder if it is empty."""
        sweep(self.out)
        sweep(self.out.absolute().parent / "protofit")  # the probe of `check_writable`
        if self.run_folder.is_dir():
            sweep(self.run_folder / "checkpoint")
            with contextlib.suppress(OSError):
                self.run_folder.rmdir()

    def _finished(self, mark: str) -> Bundle | None:
        """The model in `out`, if it is the end of this very run."""
        from protofit.model.bundle import Bundle

        if not self.resume or not (self.out / "protofit.json").is_file():
            return None
        unfinished = (self.run_folder / "checkpoint").exists()
        try:
            bundle = Bundle.load(self.out)
        except ModelFolderError:
            if unfinished:
                return None
            raise
        if bundle.record.get("fingerprint") == mark:
            self._forget_run()
            typer.echo(f"protofit: this run is finished already: {self.out}", err=True)
            return bundle
        if unfinished:
            return None
        raise InputError(
            "the folder holds the model of another run",
            where=str(self.out),
            fix="Choose another --out, or give --overwrite without --resume.",
        )
