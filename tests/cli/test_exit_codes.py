"""Exit codes: 0 done, 1 the machine failed, 2 bad input, 130 Ctrl-C, 143 SIGTERM; one line each."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from helpers.command import Command, leftovers, refusal, spawn, strict_json, training, weights_of

BAD_SETTINGS: dict[str, tuple[str, ...]] = {
    "head.betta=3": ("no setting 'head.betta'", "Did you mean 'head.beta'?"),
    "haed.beta=3": ("no setting 'haed'", "Did you mean 'head'?"),
    "head.creation.alfa=1": ("no setting 'head.creation.alfa'", "'head.creation.alpha'"),
    "head=3": ("'head' is a group", "Set one of: head.beta"),
    "train.epochs.x=3": ("'train.epochs' is a value", "Set 'train.epochs' itself."),
    "head.beta=many": ("'head.beta' cannot be \"many\"", "Expected float"),
    "train.epochs=1.5": ("'train.epochs' cannot be \"1.5\"", "Expected int."),
    "encoder.skip_connection=3": ("encoder.skip_connection", "Expected bool."),
    "encoder.pooling=max": ("'encoder.pooling' cannot be", "'mean' or 'cls'"),
    "train.epochs=0": ("train.epochs is 0", "Give at least 1."),
    "head.beta=-1": ("head.beta is -1.0", "Give more than 0."),
    "head.beta=nan": ("head.beta is nan", "Give more than 0."),
    "head.beta=inf": ("head.beta is inf", "Give"),
    "train.learning_rate=inf": ("train.learning_rate is inf", "Give"),
    "train.warmup_share=2": ("train.warmup_share is 2.0", "Give a value from 0 to 1."),
    "encoder.dropout=7": ("dropout", "7"),
    "preset=zzz": ("preset", "--preset"),
    "method=raw": ("method", "--method"),
    "nonsense": ("cannot read the setting 'nonsense'", "Write it as name=value."),
    "=3": ("cannot read the setting '=3'", "Write it as name=value."),
}
BAD_OPTIONS: dict[tuple[str, str], tuple[str, ...]] = {
    ("--preset", "best"): ("no preset 'best'", "Choose one of: default, paper, "),
    ("--method", "magic"): ("no method 'magic'", "Choose one of: pfit, "),
    ("--task", "ranking"): ("no task 'ranking'", "Use classification or regression."),
    ("--format", "xml"): ("format 'xml' is unknown", "Use auto, csv"),
    ("--device", "toaster"): ("no device 'toaster'", "Use 'cpu' or leave it out."),
    ("--device", "gpu"): ("no device 'gpu'", "Use 'cpu' or leave it out."),
    ("--device", "cpu:x"): ("no device 'cpu:x'", "Use 'cpu' or leave it out."),
    ("--text-pair", "second"): ("no column 'second'", "The columns are"),
    ("--text-pair", "label"): ("'label' is named as text and as label", "another column"),
    ("--text", "label"): ("'label' is named as text and as label", "another column"),
    ("--label", "text"): ("'text' is named as text and as label", "another column"),
    ("--tracker", "nobody"): ("nobody",),
    ("--seed", "one"): ("--seed", "integer"),
}


@pytest.mark.parametrize("setting", BAD_SETTINGS)
def test_bad_setting(
    setting: str, data: Path, tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    """The message names the setting and what it may be; nothing is written."""
    arguments = training(data, tiny_bert, tmp_path / "model", "--set", setting)
    refusal(command(*arguments), *BAD_SETTINGS[setting])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", BAD_OPTIONS, ids="=".join)
def test_bad_option(
    option: tuple[str, str], data: Path, tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    """The message names the option's value and the choices; nothing is written."""
    arguments = training(data, tiny_bert, tmp_path / "model", *option)
    refusal(command(*arguments), *BAD_OPTIONS[option])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("device", ["gpu", "cpu:x", ""])
def test_bad_device_for_a_trained_model(
    device: str, model: Path, data: Path, command: Command
) -> None:
    """Predicting and evaluating check the device as training does."""
    for name in ("predict", "evaluate"):
        refusal(
            command(name, model, data, "--device", device), f"no device '{device}'", "Use 'cpu'"
        )


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["train"],
        ["teach"],
        ["train", "a.csv", "--nonsense"],
        ["predict", "model"],
        ["info", "model", "more"],
    ],
    ids=" ".join,
)
def test_wrong_usage(arguments: list[str], command: Command) -> None:
    """One line with a pointer to the help."""
    line = refusal(command(*arguments), "protofit --help")
    assert len(line.removeprefix("protofit:").split("See:")[0].strip()) > 5


@pytest.mark.parametrize(
    "arguments", [["train"], ["info"], ["train", "a.csv", "--seed", "one"]], ids=" ".join
)
def test_wrong_usage_in_json(arguments: list[str], command: Command) -> None:
    """A program that asked for JSON gets JSON for wrong usage as well."""
    result = command(*arguments, "--json")
    refusal(result)
    problem = result.json()
    assert set(problem) == {"error", "where", "fix"}
    assert problem["error"]


@pytest.mark.parametrize("length", [250, 300])
def test_name_that_is_too_long(
    length: int,
    model: Path,
    data: Path,
    tiny_bert: Path,
    tmp_path: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every command that writes says so before its work, and names no file but that one."""
    from protofit.model.bundle import Bundle
    from protofit.training.loop import Run

    monkeypatch.delattr(Run, "run")
    monkeypatch.delattr(Bundle, "load")
    out = tmp_path / ("m" * length)
    for arguments in (
        training(data, tiny_bert, out),
        training(data, tiny_bert, tmp_path / ("m" * 300) / "model"),
        ["predict", model, data, "--out", out.with_name("m" * (length - 4) + ".csv")],
        ["report", model, "--out", out.with_name("m" * (length - 5) + ".html")],
        ["edit", model, "delete", "0", "--out", out],
    ):
        line = refusal(command(*arguments), "the name is too long", "at most 2")
        assert ".tmp" not in line
    assert list(tmp_path.iterdir()) == []


def test_balanced_classes_of_a_regression(
    data: Path, tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    """An option that would be left unread is refused."""
    arguments = training(data, tiny_bert, tmp_path / "model", "--task", "regression", "--balanced")
    refusal(command(*arguments), "--balanced: ", "no classes", "Leave it out.")


@pytest.mark.parametrize(
    "setting", ["head.creation.capacity=100000000000000", "head.prune.window=10000000000000"]
)
def test_more_memory_than_there_is(
    setting: str, data: Path, tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    """Tensors that do not fit are one line as well, with exit code 1."""
    arguments = training(data, tiny_bert, tmp_path / "model", "--set", setting)
    refusal(command(*arguments), "out of memory", "Use a smaller", code=1)
    assert list(tmp_path.iterdir()) == []


def test_failure_of_the_machine_in_json(
    model: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 1, one line, and a JSON document where it was asked for."""
    from protofit.model.bundle import Bundle

    for error in (OSError(5, "Input/output error"), MemoryError()):

        def fail(*_: object, error: BaseException = error) -> None:
            raise error

        monkeypatch.setattr(Bundle, "load", fail)
        refusal(command("info", model), code=1)
        result = command("info", model, "--json")
        refusal(result, code=1)
        assert result.json()["error"]


def test_out_that_is_a_file(data: Path, tiny_bert: Path, tmp_path: Path, command: Command) -> None:
    """A file is never replaced by a folder, nor is a folder made below it."""
    file = tmp_path / "model"
    file.write_text("mine")
    for out in (file, file / "below"):
        for more in ([], ["--overwrite"], ["--resume"]):
            refusal(command(*training(data, tiny_bert, out, *more)), str(file), "file", "folder")
    assert file.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [file]


def test_existing_model_needs_overwrite(
    data: Path, tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    """Without --overwrite the model stays; with it, it is replaced."""
    out = tmp_path / "model"
    assert command(*training(data, tiny_bert, out)).code == 0
    before = weights_of(out)
    refusal(command(*training(data, tiny_bert, out, "--seed", "1")), str(out), "--overwrite")
    assert weights_of(out) == before
    assert command(*training(data, tiny_bert, out, "--seed", "1", "--overwrite")).code == 0
    assert weights_of(out) != before
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("more", [[], ["--overwrite"], ["--resume"], ["--resume", "--overwrite"]])
def test_foreign_folder_is_never_overwritten(
    more: list[str], data: Path, tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    """A folder with anything but a model in it is somebody's work."""
    out = tmp_path / "thesis"
    out.mkdir()
    (out / "chapter.txt").write_text("years of work")
    result = command(*training(data, tiny_bert, out, *more))
    refusal(result, str(out), "not a model folder", "Choose another --out.")
    assert (out / "chapter.txt").read_text() == "years of work"
    assert [path.name for path in tmp_path.iterdir()] == ["thesis"]


def test_foreign_run_folder_is_never_removed(
    data: Path, tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    """`model.run` beside the model is removed at the end only if a run of ours made it."""
    notes = tmp_path / "model.run" / "notes.txt"
    notes.parent.mkdir()
    notes.write_text("mine")
    command(*training(data, tiny_bert, tmp_path / "model", "--overwrite"))
    assert notes.read_text() == "mine"


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_by_a_signal(
    sign: signal.Signals, code: int, data: Path, tiny_bert: Path, tmp_path: Path, command: Command
) -> None:
    """Ctrl-C or SIGTERM: its exit code and one line; what was done so far can be resumed."""
    out = tmp_path / "model"
    every = ("--set", "train.checkpoint_every=1")
    process = spawn(training(data, tiny_bert, out, *every, steps=100_000))
    checkpoint = tmp_path / "model.run" / "checkpoint" / "checkpoint.json"
    deadline = time.monotonic() + 60
    while not checkpoint.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(sign)
    said, problem = process.communicate(timeout=30)
    assert process.returncode == code, problem
    assert problem == "protofit: stopped\n"
    assert said == ""
    assert not out.exists()
    assert leftovers(tmp_path) == []
    assert checkpoint.exists()
    refusal(command(*training(data, tiny_bert, out)), "unfinished run", "--resume")


def test_interrupt_in_json(
    model: Path, data: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C leaves no half document on standard output."""
    from protofit.model.bundle import Bundle

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Bundle, "logits", stop)
    result = command("evaluate", model, data, "--json")
    assert (result.code, result.err) == (130, "protofit: stopped\n")
    assert result.out == "" or strict_json(result.out)
