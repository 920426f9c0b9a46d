"""`ProtoFitForSequenceClassification`: a Hugging Face model through and through."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from helpers.fresh import run_fresh
from helpers.quick import few_tickets, quick_classifier, quick_regressor
from protofit import ProtoFitConfig, ProtoFitForSequenceClassification

TEXTS, LABELS = few_tickets(8, ("billing", "returns", "delivery"))
PRICES = np.linspace(50, 90, len(TEXTS))


@pytest.fixture(scope="module")
def bundle(tiny_bert: Path) -> Any:
    return quick_classifier(tiny_bert).fit(TEXTS, LABELS).bundle_


def batch_of(bundle: Any, texts: list[str] = TEXTS) -> dict[str, torch.Tensor]:
    tokens = bundle.tokens(texts)
    return dict(tokens.batch(np.arange(len(tokens)), torch.device("cpu")))


def test_it_says_how_many_labels_it_has(bundle: Any, tiny_bert: Path, tmp_path: Path) -> None:
    """Where models of transformers say it, and code around them looks."""
    bundle.model.save_pretrained(tmp_path / "model")
    loaded = ProtoFitForSequenceClassification.from_pretrained(tmp_path / "model")
    assert bundle.model.num_labels == loaded.num_labels == loaded.config.num_labels == 3
    assert quick_regressor(tiny_bert).fit(TEXTS, PRICES).bundle_.model.num_labels == 1


FRESH = """
import json, sys, torch
from protofit import ProtoFitForSequenceClassification
model = ProtoFitForSequenceClassification.from_pretrained(sys.argv[1])
batch = {name: torch.tensor(rows) for name, rows in json.load(open(sys.argv[2])).items()}
with torch.no_grad():
    logits = model(**batch).logits
exact = [x.hex() for x in logits.flatten().tolist()]
print(json.dumps({"training": model.training, "logits": exact}))
"""


def test_a_fresh_process_reads_the_saved_model_bitwise(bundle: Any, tmp_path: Path) -> None:
    bundle.model.save_pretrained(tmp_path / "model")
    batch = batch_of(bundle)
    file = tmp_path / "batch.json"
    file.write_text(json.dumps({name: rows.tolist() for name, rows in batch.items()}))
    model = copy.deepcopy(bundle.model)
    model.encoder.set_attn_implementation("sdpa")  # what `from_pretrained` chooses
    with torch.no_grad():
        expected = model(**batch).logits
    found = run_fresh(FRESH, tmp_path / "model", file)
    assert not found["training"]
    assert found["logits"] == [value.hex() for value in expected.flatten().tolist()]


def test_everything_comes_back(bundle: Any, tmp_path: Path) -> None:
    bundle.model.save_pretrained(tmp_path)
    loaded = ProtoFitForSequenceClassification.from_pretrained(tmp_path)
    before, after = bundle.model.state_dict(), loaded.state_dict()
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        assert torch.equal(tensor, after[name]), name
        assert tensor.dtype == after[name].dtype
    assert loaded.head.config == bundle.model.head.config
    assert loaded.config.id2label == {0: "billing", 1: "delivery", 2: "returns"}
    assert loaded.config.label2id == {"billing": 0, "delivery": 1, "returns": 2}
    assert loaded.settings == bundle.model.settings


def test_the_folder_holds_safetensors_and_text_only(bundle: Any, tmp_path: Path) -> None:
    bundle.model.save_pretrained(tmp_path)
    assert {path.suffix for path in tmp_path.iterdir()} <= {".safetensors", ".json", ".txt"}
    assert (tmp_path / "model.safetensors").is_file()


def test_the_logits_are_log_probabilities(bundle: Any) -> None:
    batch = batch_of(bundle)
    with torch.no_grad():
        logits = bundle.model(**batch).logits
    assert logits.shape == (len(TEXTS), 3)
    torch.testing.assert_close(logits.exp().sum(dim=1), torch.ones(len(TEXTS)))
    torch.testing.assert_close(logits.softmax(dim=1), logits.exp())


def test_the_loss_is_the_cross_entropy_plus_the_terms_of_the_method(bundle: Any) -> None:
    labels = torch.tensor([0, 2, 1] * 8)
    with torch.no_grad():
        output = bundle.model(**batch_of(bundle), labels=labels)
        features = bundle.model.features(**batch_of(bundle))
        parts = bundle.model.head.loss(features, labels).parts
    fit = torch.nn.functional.nll_loss(output.logits, labels)
    torch.testing.assert_close(parts["fit"], fit)
    torch.testing.assert_close(output.loss, torch.stack([*parts.values()]).sum())
    assert set(parts) == {"fit", "diversity", "neighbour"}


def test_weights_of_one_change_nothing_and_zeros_silence(bundle: Any) -> None:
    batch, labels = batch_of(bundle), torch.tensor([0, 2, 1] * 8)
    with torch.no_grad():
        plain = bundle.model(**batch, labels=labels).loss
        ones = bundle.model(**batch, labels=labels, weights=torch.ones(24)).loss
        wrong = labels.clone()
        wrong[0] = 1 - wrong[0]
        silent = torch.ones(24).index_fill(0, torch.tensor([0]), 0)
        one, other = (bundle.model(**batch, labels=y, weights=silent).loss for y in (labels, wrong))
    torch.testing.assert_close(plain, ones)
    torch.testing.assert_close(one, other)
    assert not torch.isclose(one, plain)


def test_what_is_left_out_is_what_one_would_think(bundle: Any) -> None:
    batch = batch_of(bundle, [TEXTS[0]])
    with torch.no_grad():
        full = bundle.model(**batch)
        short = bundle.model(input_ids=batch["input_ids"])
        as_tuple = bundle.model(**batch, return_dict=False)
        with_loss = bundle.model(**batch, labels=torch.tensor([1]), return_dict=False)
    assert full.loss is None
    assert torch.equal(full.logits, short.logits)
    assert torch.equal(as_tuple[0], full.logits)
    assert len(as_tuple) == 1
    assert with_loss[0].ndim == 0
    assert torch.equal(with_loss[1], full.logits)


def test_evaluation_with_labels_leaves_the_head_alone(bundle: Any) -> None:
    before = {name: t.clone() for name, t in bundle.model.head.state_dict().items()}
    with torch.no_grad():
        bundle.model(**batch_of(bundle), labels=torch.tensor([0, 2, 1] * 8))
    for name, tensor in bundle.model.head.state_dict().items():
        assert torch.equal(tensor, before[name]), name


def test_regression_speaks_the_unit_of_the_targets(tiny_bert: Path, tmp_path: Path) -> None:
    model = quick_regressor(tiny_bert).fit(TEXTS, PRICES).bundle_.model
    model.save_pretrained(tmp_path)
    loaded = ProtoFitForSequenceClassification.from_pretrained(tmp_path)
    assert loaded.config.target_mean == pytest.approx(70)
    assert loaded.config.target_scale == pytest.approx(PRICES.std(), rel=1e-5)
    bundle = quick_regressor(tiny_bert).fit(TEXTS, PRICES).bundle_
    with torch.no_grad():
        logits = loaded(**batch_of(bundle)).logits
    assert logits.shape == (len(TEXTS), 1)
    assert 50 <= logits.min() <= logits.max() <= 90
    label = torch.tensor(PRICES, dtype=torch.float32)
    with torch.no_grad():
        output = loaded(**batch_of(bundle), labels=label)
        features = loaded.features(**batch_of(bundle))
        fit = loaded.head.loss(features, loaded.inner_labels(label)).parts["fit"]
    scaled = (output.logits.squeeze(1) - label) / loaded.config.target_scale
    torch.testing.assert_close(fit, scaled.square().mean())


def test_gradient_checkpointing_does_not_change_the_gradients(bundle: Any, tmp_path: Path) -> None:
    bundle.model.save_pretrained(tmp_path)
    gradients = []
    for checkpointing in (False, True):
        model = ProtoFitForSequenceClassification.from_pretrained(tmp_path).train()
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        if checkpointing:
            model.gradient_checkpointing_enable()
        model(**batch_of(bundle), labels=torch.tensor([0, 2, 1] * 8)).loss.backward()
        gradients.append(model.encoder.embeddings.word_embeddings.weight.grad)
    assert gradients[0].abs().max() > 0
    torch.testing.assert_close(gradients[0], gradients[1])


def test_the_skip_connection_adds_the_mean_word_vector(bundle: Any, tmp_path: Path) -> None:
    bundle.model.save_pretrained(tmp_path)
    plain = ProtoFitForSequenceClassification.from_pretrained(tmp_path)
    config = ProtoFitConfig.from_pretrained(tmp_path)
    config.encoder_settings["skip_connection"] = True
    skipping = ProtoFitForSequenceClassification.from_pretrained(tmp_path, config=config)
    batch = batch_of(bundle, [TEXTS[0], "late"])  # the second one is padded
    with torch.no_grad():
        added = skipping.features(**batch) - plain.features(**batch)
        words = plain.get_input_embeddings()(batch["input_ids"])
    pairs = zip(words, batch["attention_mask"], strict=True)
    expected = torch.stack([row[mask.bool()].mean(dim=0) for row, mask in pairs])
    assert not batch["attention_mask"].all()
    torch.testing.assert_close(added, expected, rtol=1e-4, atol=1e-6)


def test_an_empty_configuration_survives_a_round_trip(tmp_path: Path) -> None:
    ProtoFitConfig().save_pretrained(tmp_path)
    assert ProtoFitConfig.from_pretrained(tmp_path).task == "classification"
