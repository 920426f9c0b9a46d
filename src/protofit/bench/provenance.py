"""Where the figures come from: code, devices, programs, times, and the commands."""

from __future__ import annotations

from collections import Counter

from protofit.bench.boards import Boards
from protofit.bench.labels import EXTERNAL
from protofit.bench.markdown import NOT_YET, listed


def versions_mixed(boards: Boards) -> str:
    """How many trainings there are of each code version; in a template it permits mixing them."""
    codes = Counter(str(record["code"]) for record in boards.records)
    parts = [f"{count:,} of code `{code}`" for code, count in codes.most_common()]
    if len(codes) < 2:
        return "".join(f"All come from version `{code}` of the code." for code in codes)
    return f"They come from {len(codes)} versions of the code: {listed(parts)}."


def provenance(boards: Boards) -> str:
    """Which code, programs and devices the figures come from."""
    if not boards.records:
        return NOT_YET
    lines = []
    for (encoder, protocol), board in boards.boards.items():
        codes = Counter(str(record["code"]) for record in board.records)
        parts = [f"{count:,} of code `{code}`" for code, count in codes.most_common()]
        if parts:
            lines.append(f"- {encoder}, {protocol}: trainings {listed(parts)}")
    devices = sorted({str(record.get("device")) for record in boards.records})
    engines = sorted({str(record.get("engine")) for record in boards.records})
    versions = sorted(
        {
            ", ".join(f"{name} {version}" for name, version in record["versions"].items())
            for record in boards.records
            if "versions" in record
        }
    )
    seconds = sum(float(record.get("seconds", 0)) for record in boards.records)
    lines.append(f"- devices: {listed(devices)}; engines: {listed(engines)}")
    lines.append(f"- versions: {'; '.join(versions)}")
    lines.append(f"- sum of the recorded times: {seconds / 3600:,.1f} hours")
    lines += [f"- {line}" for line in _pace(boards)]
    return "\n".join(lines)


def _pace(boards: Boards) -> list[str]:
    """Trainings per minute of each engine and device, by the records' own times."""
    found: dict[tuple[str, str], list[float]] = {}
    for record in boards.records:
        place = (str(record.get("engine")), str(record.get("device")))
        found.setdefault(place, []).append(float(record.get("seconds", 0)))
    return [
        f"{engine} on {device}: {len(seconds):,} trainings, {60 * len(seconds) / sum(seconds):.1f} "
        f"per minute of recorded time (runs of several processes at once each count their own; "
        f"reading and tokenising a data set is not counted)"
        for (engine, device), seconds in sorted(found.items())
        if sum(seconds)
    ]


def commands(boards: Boards) -> str:
    """The command that runs, or finishes, each spec."""
    lines = []
    for experiment in boards.in_order:
        more = " --peers-python PYTHON" if set(experiment.spec.arms) & set(EXTERNAL) else ""
        lines.append(
            f"protofit bench run benchmarks/specs/{experiment.spec.name}.toml "
            f"--data-dir DATA --weights-dir WEIGHTS --mix-versions{more}"
        )
    return "\n".join(["```", *lines, "make results", "```"])
