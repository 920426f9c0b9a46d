"""Names for people: columns of the tables, arms, and which arms belong together."""

from __future__ import annotations

from dataclasses import dataclass

BASELINES = ("dpmeans", "protonet", "prosenet", "imp", "bss", "vibert", "raw")  # the paper's order
OURS = ("pfit-paper", "pfit")
CONTROLS = ("raw-init", "raw-snn", "probe", "imp-exact")
ABLATIONS = ("pf-i", "pf-s", "pf-d", "pf-f", "pfit-sc")
EXTERNAL = ("setfit", "hf-trainer")
ALL_ARMS = (*BASELINES, *OURS, *CONTROLS, *ABLATIONS, *EXTERNAL)

ARM_NAMES = {
    "dpmeans": "DP-Means",
    "protonet": "ProtoNet",
    "prosenet": "ProSeNet",
    "imp": "IMP",
    "imp-exact": "IMP (exact)",
    "bss": "BSS",
    "vibert": "VIBERT",
    "raw": "Raw",
    "raw-init": "Raw + init",
    "raw-snn": "Raw + SNN",
    "probe": "Probe",
    "pfit": "PFit",
    "pfit-paper": "PFit (paper)",
    "pf-i": "PF-I",
    "pf-s": "PF-S",
    "pf-d": "PF-D",
    "pf-f": "PF-F",
    "pfit-sc": "PFit-SC",
    "setfit": "SetFit",
    "hf-trainer": "HF Trainer",
}


@dataclass(frozen=True, order=True)
class Task:
    """A data set and the development split it is measured on."""

    data: str  # name in the spec
    split: str  # name in the record
    name: str  # as printed


MNLI_M = Task("mnli", "validation_matched", "MNLI-m")
MNLI_MM = Task("mnli", "validation_mismatched", "MNLI-mm")
SST2 = Task("sst2", "validation", "SST-2")
QNLI = Task("qnli", "validation", "QNLI")
STSB = Task("stsb", "validation", "STS-B")
PAPER_TASKS = (MNLI_M, MNLI_MM, SST2, QNLI)
PAIR_SETS = frozenset({"mnli", "qnli", "stsb"})  # known to hold pairs of texts
KNOWN_TASKS = (*PAPER_TASKS, STSB)


def arm_name(arm: str) -> str:
    """The arm as printed."""
    return ARM_NAMES.get(arm, arm)


def pair_name(arm: str, other: str) -> str:
    """`PFit − Raw`; a name that itself holds a plus is put in brackets behind the minus."""
    name = arm_name(other)
    return f"{arm_name(arm)} − {f'({name})' if '+' in name else name}"


def in_order(arms: set[str]) -> list[str]:
    """Known arms in the order of the tables, then the others by name."""
    return [arm for arm in ALL_ARMS if arm in arms] + sorted(arms.difference(ALL_ARMS))
