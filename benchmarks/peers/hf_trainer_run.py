"""The stock Trainer with AutoModelForSequenceClassification: `python hf_trainer_run.py FOLDER`.

Same encoder, rows, batch size, number of steps, learning rate and slice as the other arms; its
own head, pooling, order of batches and dropout.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    EarlyStoppingCallback,
    Trainer,
    TrainingArguments,
)


def rows(folder: Path, split: str, tokenizer, job: dict) -> list[dict]:
    found = [json.loads(line) for line in (folder / f"{split}.jsonl").open(encoding="utf-8")]
    encoded = []
    for row in found:
        tokens = tokenizer(*row["texts"], truncation=True, max_length=job["max_length"])
        label = int(row["label"]) if job["classes"] else float(row["label"])
        encoded.append({**tokens, "labels": label})
    return encoded


def arguments_of(folder: Path, job: dict, *, sliced: bool) -> TrainingArguments:
    when = "epoch" if sliced else "no"
    return TrainingArguments(
        output_dir=str(folder / "out"), max_steps=job["steps"], learning_rate=job["rate"],
        per_device_train_batch_size=job["batch_size"], per_device_eval_batch_size=64,
        lr_scheduler_type="constant", weight_decay=0.0, max_grad_norm=0.0, seed=job["seed"],
        eval_strategy=when, save_strategy=when, save_total_limit=1, logging_strategy="no",
        load_best_model_at_end=sliced, metric_for_best_model="score", greater_is_better=True,
        report_to="none", disable_tqdm=True, use_cpu=job["device"] == "cpu",
    )  # fmt: skip


def score(prediction) -> dict[str, float]:
    values, labels = prediction.predictions, prediction.label_ids
    if values.shape[1] == 1:
        return {"score": -float(np.square(values[:, 0] - labels).mean())}
    return {"score": float((values.argmax(axis=1) == labels).mean())}


def log_softmax(values: np.ndarray) -> np.ndarray:
    values = values.astype(float) - values.max(axis=1, keepdims=True)
    return values - np.log(np.exp(values).sum(axis=1, keepdims=True))


def main(folder: Path) -> None:
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    tokenizer = AutoTokenizer.from_pretrained(job["encoder"], local_files_only=True)
    kind = {"num_labels": job["classes"]} if job["classes"] else {
        "num_labels": 1, "problem_type": "regression",
    }  # fmt: skip
    sliced = "slice" in job["splits"]
    arguments = arguments_of(folder, job, sliced=sliced)  # seeds the head as well
    data = {name: rows(folder, name, tokenizer, job) for name in ("train", *job["splits"])}
    trainer = Trainer(
        model_init=lambda: AutoModelForSequenceClassification.from_pretrained(
            job["encoder"], local_files_only=True, dtype="float32", **kind
        ),
        args=arguments,
        train_dataset=data["train"],
        eval_dataset=data.get("slice"),
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=score,
        callbacks=[EarlyStoppingCallback(job["patience"])] if sliced else [],
    )
    trainer.train()
    logits = {split: trainer.predict(data[split]).predictions for split in job["splits"]}
    if job["classes"]:
        logits = {split: log_softmax(values) for split, values in logits.items()}
    best = trainer.state.best_model_checkpoint
    result = {
        "logits": {split: np.asarray(values).tolist() for split, values in logits.items()},
        "steps": trainer.state.global_step,
        "best_step": int(best.rpartition("-")[2]) if sliced and best else None,
        "parameters": sum(p.numel() for p in trainer.model.parameters()),
        "versions": {name: version(name) for name in ("transformers", "torch")},
    }
    (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
