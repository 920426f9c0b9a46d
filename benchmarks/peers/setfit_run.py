"""SetFit on a subset that `protofit bench` wrote: `python setfit_run.py FOLDER`.

Runs in an environment of its own (pip install setfit). The encoder is the one of the comparison;
the recipe is SetFit's: contrastive pairs (20 rounds of them per example), then logistic
regression. Learning rate and steps are its defaults, and the whole subset is used for training.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from sentence_transformers import models as modules
from setfit import SetFitModel, Trainer, TrainingArguments

ROUNDS = 20


def rows(folder: Path, split: str) -> list[dict]:
    return [json.loads(line) for line in (folder / f"{split}.jsonl").open(encoding="utf-8")]


def body_of(job: dict) -> SentenceTransformer:
    words = modules.Transformer(job["encoder"], max_seq_length=job["max_length"])
    size = words.get_word_embedding_dimension()
    return SentenceTransformer(
        modules=[words, modules.Pooling(size, pooling_mode="mean")], device=job["device"]
    )


def main(folder: Path) -> None:
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    torch.manual_seed(job["seed"])
    train = rows(folder, "train")
    data = Dataset.from_dict(
        {"text": [row["texts"][0] for row in train], "label": [row["label"] for row in train]}
    )
    model = SetFitModel(model_body=body_of(job), model_head=head_of(job))
    arguments = TrainingArguments(
        output_dir=str(folder / "out"), batch_size=16, num_iterations=ROUNDS, num_epochs=1,
        seed=job["seed"], report_to="none", save_strategy="no",
    )  # fmt: skip
    trainer = Trainer(model=model, args=arguments, train_dataset=data)
    trainer.train()
    logits = {}
    for split in job["splits"]:
        chances = model.predict_proba([row["texts"][0] for row in rows(folder, split)])
        logits[split] = np.log(np.clip(np.asarray(chances, float), 1e-12, 1)).tolist()
    steps = -(-2 * ROUNDS * len(train) // 16)
    parameters = sum(p.numel() for p in model.model_body.parameters())
    names = ("setfit", "sentence-transformers", "transformers", "torch")
    versions = {name: version(name) for name in names}
    result = {"logits": logits, "steps": steps, "parameters": parameters, "versions": versions}
    (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")


def head_of(job: dict):
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(random_state=job["seed"], max_iter=1000)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
