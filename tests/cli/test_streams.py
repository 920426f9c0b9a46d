"""The three standard streams when they are closed, full, or of another encoding than UTF-8."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.command import strict_json

NAME = "né λ 🎉.csv"  # a missing file that every message has to name


def shell(line: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command line, with `protofit` for the command, in a folder."""
    if not Path("/bin/sh").exists():
        pytest.skip("needs a shell")
    call = line.replace("protofit", f"'{sys.executable}' -m protofit")
    return subprocess.run(
        ["/bin/sh", "-c", call],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=100,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_output_is_utf8_whatever_the_locale(encoding: str, tmp_path: Path) -> None:
    """JSON is UTF-8 by definition, and a message must not fail for a letter."""
    done = shell(f"protofit train '{NAME}' --json", tmp_path, PYTHONIOENCODING=encoding)
    assert done.returncode == 2
    assert strict_json(done.stdout)["where"] == NAME
    assert done.stderr.startswith(f"protofit: {NAME}: there is no such file.")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("more", ["", "--json"])
def test_standard_input_that_is_closed(more: str, tmp_path: Path) -> None:
    """One line, and a document where it was asked for."""
    done = shell(f"protofit train - {more} <&-", tmp_path)
    assert done.returncode == 2
    assert done.stderr == "protofit: stdin: standard input is closed. Pipe the data into it.\n"
    assert (strict_json(done.stdout)["where"] if more else done.stdout) in ("stdin", "")


def test_standard_output_that_is_full(tmp_path: Path) -> None:
    """The reason still reaches the reader, in one line and without a traceback."""
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    for line, code, words in (
        ("protofit train nothing.csv --json", 2, "no such file"),
        ("protofit --version", 1, "No space left on device"),
    ):
        done = shell(f"{line} > /dev/full", tmp_path)
        assert done.returncode == code, done
        assert words in done.stderr
        assert done.stderr.count("\n") == 1


def test_reader_that_goes_away(tmp_path: Path) -> None:
    """`| head -1`: no complaint, no traceback."""
    done = shell("(protofit train --help; echo $? >&3) 3>code | true", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "code").read_text() in ("0\n", "1\n")
