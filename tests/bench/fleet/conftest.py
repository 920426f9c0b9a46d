"""Sets and an encoder without dropout, on which a fleet and the loop must agree."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from protofit.bench.workbench import Places, Workbench

WORDS = {"calm": "quiet still gentle slow", "loud": "noise shout crash bang", "wet": "rain river"}


@pytest.fixture(scope="session")
def dry_bench(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    """Two sets, and the tiny encoder without dropout: the engines draw it differently."""
    root = tmp_path_factory.mktemp("fleet")
    write_set(root / "data" / "topics")
    write_set(root / "data" / "scores", regression=True)
    encoder = root / "weights" / "dry"
    shutil.copytree(tiny_bert, encoder)
    config = json.loads((encoder / "config.json").read_text())
    config.update(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    (encoder / "config.json").write_text(json.dumps(config))
    return Workbench(Places(data_dir=root / "data", weights_dir=root / "weights", device="cpu"))


def write_set(folder: Path, *, regression: bool = False) -> None:
    """Three topics with words of their own among common ones; scores are noisy topic numbers."""
    folder.mkdir(parents=True)
    draw = np.random.default_rng(0)
    for split, count in (("train", 320), ("validation", 60)):
        labels = draw.integers(0, 3, count)
        texts = []
        for label in labels:
            own = list(WORDS.values())[label].split()
            mixed = draw.choice([*own, "the", "my", "was", "not", "account"], draw.integers(3, 12))
            texts.append(" ".join(mixed))
        column = labels + draw.normal(0, 0.1, count) if regression else labels
        rows = {"sentence1": texts, "sentence2": [None] * count, "label": column.tolist(),
                "idx": list(range(count))}  # fmt: skip
        pq.write_table(pa.table(rows), folder / f"{split}.parquet")
