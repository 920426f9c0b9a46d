"""The one place where methods are named."""

from __future__ import annotations

from typing import Any

from protofit.config.fields import from_dict
from protofit.errors import InputError
from protofit.methods.base import HeadShape, Method
from protofit.methods.bss import BSS
from protofit.methods.dpmeans import DPMeans
from protofit.methods.imp import Imp, ImpExact
from protofit.methods.pfit import PFit
from protofit.methods.probe import Probe
from protofit.methods.prosenet import ProSeNet
from protofit.methods.protonet import ProtoNet
from protofit.methods.raw import Raw
from protofit.methods.raw_init import RawInit
from protofit.methods.raw_snn import RawSNN
from protofit.methods.vibert import VIBERT

METHODS: dict[str, type[Method]] = {
    "pfit": PFit,
    "raw": Raw,
    "raw-init": RawInit,
    "raw-snn": RawSNN,
    "protonet": ProtoNet,
    "dpmeans": DPMeans,
    "imp": Imp,
    "imp-exact": ImpExact,
    "probe": Probe,
    "prosenet": ProSeNet,
    "vibert": VIBERT,
    "bss": BSS,
}


def method_class(name: str) -> type[Method]:
    """The class registered under `name`."""
    if name not in METHODS:
        known = ", ".join(METHODS)
        raise InputError(
            f"there is no method '{name}'", where="settings", fix=f"Choose one of: {known}."
        )
    return METHODS[name]


def method_config(name: str, preset: str) -> Any:
    """The settings of method `name` under the preset `default` or `paper`."""
    return method_class(name).config_class.preset(preset)  # type: ignore[attr-defined]


def build_method(name: str, settings: dict[str, Any], shape: HeadShape) -> Method:
    """A fresh method from its settings as a dictionary."""
    kind = method_class(name)
    return kind(from_dict(kind.config_class, settings), shape)
