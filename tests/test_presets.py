"""The named presets and what an ablation changes."""

from __future__ import annotations

import pytest

from protofit.errors import InputError
from protofit.presets import PRESETS, find_preset
from protofit.settings import Settings

ABLATIONS = {
    "pf-i": ("head", "start", "vectors", "random"),
    "pf-s": ("head", "prune", "per_epoch", 0),
    "pf-d": ("head", "diversity", "weight", 0.0),
    "pf-f": ("head", "diversity", "threshold", "fixed"),
    "pfit-sc": ("encoder", "skip_connection", None, True),
}


@pytest.mark.parametrize("name", ABLATIONS)
def test_an_ablation_differs_from_the_paper_in_one_setting(name: str) -> None:
    room, field, inner, value = ABLATIONS[name]
    expected = Settings.build("paper").to_dict()
    if inner is None:
        expected[room][field] = value
    else:
        expected[room][field][inner] = value
    assert Settings.build(name).to_dict() == {**expected, "preset": name}


def test_groups_is_the_default_with_several_prototypes_a_class() -> None:
    changed = Settings.build("default", overrides=PRESETS["groups"].overrides)
    assert Settings.build("groups").to_dict() == {**changed.to_dict(), "preset": "groups"}
    assert changed.head.start.per_class > 1


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_survives_saving(name: str) -> None:
    settings = Settings.build(name)
    assert Settings.from_dict(settings.to_dict()) == settings
    assert settings.differences() == {}


def test_an_override_beats_the_preset() -> None:
    assert Settings.build("pf-s", overrides={"head.prune.per_epoch": 3}).head.prune.per_epoch == 3


def test_unknown_or_unfit_presets_are_refused() -> None:
    with pytest.raises(InputError, match="no preset 'best'") as caught:
        find_preset("best", "pfit")
    assert caught.value.fix == f"Choose one of: {', '.join(PRESETS)}."
    with pytest.raises(InputError, match="for the method pfit, not raw"):
        Settings.build("pf-s", "raw")
