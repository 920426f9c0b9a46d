"""Running over many texts: order, batch composition and the state of the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from helpers.quick import few_tickets, quick_classifier, quick_regressor
from protofit.model.inference import BATCH, evaluating, frozen_features, over_tokens, predict_logits

TEXTS, LABELS = few_tickets(20, ("billing", "returns", "delivery", "account"))
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def bundle(tiny_bert: Path) -> Any:
    return quick_classifier(tiny_bert, {"train.learning_rate": 3e-3}).fit(TEXTS, LABELS).bundle_


@pytest.fixture(scope="module")
def tokens(bundle: Any) -> Any:
    return bundle.tokens(TEXTS)


def test_there_is_more_than_one_batch_and_lengths_differ(tokens: Any) -> None:
    assert len(tokens) > BATCH
    assert len(set(tokens.lengths.tolist())) > 10


def test_results_are_in_the_order_of_the_rows(tokens: Any) -> None:
    rows = np.random.default_rng(0).permutation(len(tokens))[:50]
    rows = np.append(rows, rows[:3])  # repeats too

    def first_words(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        return torch.stack([batch["input_ids"][:, 1], batch["attention_mask"].sum(dim=1)], dim=1)

    found = over_tokens(tokens, rows, first_words, CPU, batch_size=7)
    expected = [[tokens.ids[tokens.offsets[row] + 1], tokens.lengths[row]] for row in rows]
    assert found.tolist() == expected


def test_batches_are_as_large_as_asked_and_sorted_by_length(tokens: Any) -> None:
    seen: list[list[int]] = []

    def note(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        seen.append(batch["attention_mask"].sum(dim=1).tolist())
        assert batch["input_ids"].shape[1] == max(seen[-1])
        return batch["input_ids"][:, 0]

    over_tokens(tokens, np.arange(len(tokens)), note, CPU, batch_size=32)
    assert [len(part) for part in seen] == [32, 32, 16]
    flat = [length for part in seen for length in part]
    assert flat == sorted(tokens.lengths.tolist())


def test_company_in_a_batch_does_not_matter(bundle: Any, tokens: Any) -> None:
    together = predict_logits(bundle.model, tokens)
    alone = np.concatenate(
        [predict_logits(bundle.model, tokens, np.array([row])) for row in range(len(tokens))]
    )
    backwards = predict_logits(bundle.model, tokens, np.arange(len(tokens))[::-1])[::-1]
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-5)
    np.testing.assert_allclose(together, backwards, rtol=0, atol=1e-5)
    assert np.ptp(together, axis=0).min() > 1e-3


def test_no_rows_give_no_results(bundle: Any, tokens: Any) -> None:
    assert predict_logits(bundle.model, tokens, np.arange(0)).shape == (0, 4)
    assert predict_logits(bundle.model, bundle.tokens([])).shape == (0, 4)


def test_no_rows_of_a_regressor_give_no_results(tiny_bert: Path) -> None:
    bundle = quick_regressor(tiny_bert).fit(TEXTS, np.arange(len(TEXTS))).bundle_
    assert predict_logits(bundle.model, bundle.tokens([])).shape == (0, 1)


def test_results_are_float32_on_the_host_without_gradients(bundle: Any, tokens: Any) -> None:
    assert predict_logits(bundle.model, tokens).dtype == np.float32
    features = frozen_features(bundle.model, tokens, np.arange(5))
    assert features.dtype == torch.float32
    assert not features.requires_grad


def test_the_encoder_computes_in_float32_whatever_is_around(bundle: Any, tokens: Any) -> None:
    seen: set[torch.dtype] = set()
    dense = bundle.model.encoder.encoder.layer[0].output.dense
    handle = dense.register_forward_hook(lambda _, __, out: seen.add(out.dtype))
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            frozen_features(bundle.model, tokens, np.arange(5))
            predict_logits(bundle.model, tokens)
    finally:
        handle.remove()
    assert seen == {torch.float32}


def test_features_do_not_depend_on_the_mode_of_the_model(bundle: Any, tokens: Any) -> None:
    rows = np.arange(10)
    evaluated = frozen_features(bundle.model, tokens, rows)
    bundle.model.train()
    try:
        trained = frozen_features(bundle.model, tokens, rows)
        assert bundle.model.training
        with torch.no_grad():
            dropped = bundle.model.features(**tokens.batch(rows, CPU))
    finally:
        bundle.model.eval()
    assert torch.equal(evaluated, trained)
    assert not torch.allclose(evaluated, dropped, atol=1e-3)


def test_the_mode_comes_back_after_an_error() -> None:
    model = torch.nn.Dropout().train()
    with pytest.raises(RuntimeError), evaluating(model):
        assert not model.training
        raise RuntimeError
    assert model.training


@pytest.mark.parametrize("mode", ["highest", "medium"])
def test_the_product_mode_of_the_process_comes_back(bundle: Any, tokens: Any, mode: str) -> None:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(mode)
    try:
        predict_logits(bundle.model, tokens, np.arange(3))
        assert torch.get_float32_matmul_precision() == mode
    finally:
        torch.set_float32_matmul_precision(before)


def test_very_short_and_very_long_texts_meet(bundle: Any) -> None:
    tokens = bundle.tokens(["", "late " * 500, "late"])
    assert tokens.lengths.tolist() == [2, 128, 3]
    assert tokens.truncated == 1
    assert np.isfinite(predict_logits(bundle.model, tokens)).all()
