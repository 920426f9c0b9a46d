"""All settings of a run in one frozen object: a preset, then overrides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from protofit.config.encoder import EncoderConfig
from protofit.config.fields import from_dict, override, to_dict
from protofit.config.train import TrainConfig
from protofit.errors import InputError
from protofit.methods.registry import method_class, method_config
from protofit.presets import find_preset


@dataclass(frozen=True)
class Settings:
    """Method, head, encoder and training settings of one run."""

    preset: str  # the preset it started from
    method: str  # name in the registry
    head: Any  # the method's own settings
    encoder: EncoderConfig
    train: TrainConfig

    @classmethod
    def build(
        cls, preset: str = "default", method: str = "pfit", overrides: dict[str, Any] | None = None
    ) -> Settings:
        """The preset's settings with dotted overrides such as `{"head.beta": 3}`."""
        chosen = find_preset(preset, method)
        head = method_config(method, chosen.base)
        for key in overrides or {}:
            if not isinstance(key, str):
                raise InputError(
                    f"the name of a setting is {key!r}", where="settings", fix="Give it as text."
                )
            if key in ("preset", "method"):
                raise InputError(
                    f"'{key}' is not a setting", where="settings", fix=f"Give --{key} or {key}=."
                )
        train = TrainConfig.preset(chosen.base)
        settings = cls(preset, method, head, EncoderConfig(), train)
        return override(settings, {**chosen.overrides, **(overrides or {})})

    def differences(self) -> dict[str, Any]:
        """Dotted overrides that lead from the preset to these settings."""
        mine, base = (
            _flat(self.to_dict()),
            _flat(Settings.build(self.preset, self.method).to_dict()),
        )
        return {key: value for key, value in mine.items() if value != base[key]}

    def to_dict(self) -> dict[str, Any]:
        """Plain nested dictionary."""
        return to_dict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Settings:
        """Settings as they were saved."""
        kind = method_class(values["method"]).config_class
        return cls(
            preset=values["preset"],
            method=values["method"],
            head=from_dict(kind, values["head"], "head."),
            encoder=from_dict(EncoderConfig, values["encoder"], "encoder."),
            train=from_dict(TrainConfig, values["train"], "train."),
        )


def _flat(values: dict[str, Any], path: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{path}{key}."))
        else:
            flat[f"{path}{key}"] = value
    return flat
