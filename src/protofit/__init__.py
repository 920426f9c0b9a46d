"""ProtoFit: text classification by prototypes that grow, shrink and can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protofit import _auto
from protofit._version import __version__

if TYPE_CHECKING:
    from protofit.errors import InputError as InputError
    from protofit.errors import ProtoFitError as ProtoFitError
    from protofit.estimators.classifier import PFitClassifier as PFitClassifier
    from protofit.estimators.regressor import PFitRegressor as PFitRegressor
    from protofit.model.configuration import ProtoFitConfig as ProtoFitConfig
    from protofit.model.modeling import (
        ProtoFitForSequenceClassification as ProtoFitForSequenceClassification,
    )
    from protofit.settings import Settings as Settings
    from protofit.training.callback import ProtoFitCallback as ProtoFitCallback

_HOMES = {
    "InputError": "protofit.errors",
    "PFitClassifier": "protofit.estimators.classifier",
    "PFitRegressor": "protofit.estimators.regressor",
    "ProtoFitCallback": "protofit.training.callback",
    "ProtoFitConfig": "protofit.model.configuration",
    "ProtoFitError": "protofit.errors",
    "ProtoFitForSequenceClassification": "protofit.model.modeling",
    "Settings": "protofit.settings",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    """Import public names when they are first used: `import protofit` stays light."""
    if name in _HOMES:
        import importlib

        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'protofit' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)


_auto.install()
