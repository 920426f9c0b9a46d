"""VIBERT: its loss against the slow reference, its annealing, its noise."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.steps import blobs, started, train
from protofit.errors import InputError
from protofit.methods.base import HeadShape
from protofit.methods.vibert import VIBERT, VIBERTConfig, gaussian_divergence
from reference import vibert as ref
from reference.test_reference import numeric_gradient


def made(features: np.ndarray, labels: np.ndarray, **settings: Any) -> VIBERT:
    return cast("VIBERT", started("vibert", features, labels, **settings))


def layers_of(head: VIBERT) -> ref.Layers:
    def affine(layer: torch.nn.Linear) -> ref.Affine:
        weight, bias = layer.weight.detach().double(), layer.bias.detach().double()
        return weight.numpy(), bias.numpy()

    return ref.Layers(
        *map(affine, (head.first, head.second, head.to_mean, head.to_spread, head.linear)),
        head.prior_mean.detach().double().numpy(),
        head.prior_spread.detach().double().numpy(),
    )


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 4), st.integers(0, 10**6))
def test_loss_and_prediction(size: int, bottleneck: int, draws: int, seed: int) -> None:
    features, labels = blobs(30, seed=seed)
    head = made(
        features, labels, seed=seed, bottleneck=bottleneck, beta=0.3, draws=draws, dropout=0.0
    ).double()
    head.clock.fill_(9)  # third epoch of four steps
    batch, known = torch.from_numpy(features[:size]).double(), torch.from_numpy(labels[:size])
    torch.manual_seed(seed)
    result = head.loss(batch, known)
    torch.manual_seed(seed)
    noise = torch.randn(draws, size, bottleneck, dtype=torch.float64).numpy()
    layers, beta = layers_of(head), ref.annealed(0.3, 9, 4)
    assert beta == pytest.approx(0.9)
    expected = ref.loss(layers, batch.numpy(), labels[:size].tolist(), noise, beta)
    assert result.loss.item() == pytest.approx(expected, rel=1e-6)
    for x, row in zip(batch.numpy(), head(batch).detach().numpy(), strict=True):
        values = ref.output(layers, x)
        assert row == pytest.approx([-ref.cross_entropy(values, c) for c in range(len(row))])


def frozen_noise(head: VIBERT, size: int, seed: int) -> np.ndarray:
    """The draws that `loss` makes after this seed (draws, B, K)."""
    torch.manual_seed(seed)
    shape = (head.config.draws, size, head.linear.in_features)
    return torch.randn(shape, dtype=torch.float64).numpy()


def test_the_gradient_runs_through_mean_and_spread() -> None:
    features, labels = blobs(30)
    head = made(features, labels, bottleneck=3, beta=0.3, draws=2, dropout=0.0).double()
    batch = torch.from_numpy(features[:4]).double().requires_grad_()
    torch.manual_seed(5)
    head.loss(batch, torch.from_numpy(labels[:4])).loss.backward()
    layers, noise = layers_of(head), frozen_noise(head, 4, 5)

    def loss(x: np.ndarray) -> float:
        return ref.loss(layers, x, labels[:4].tolist(), noise, 0.3)

    assert batch.grad is not None
    wanted = numeric_gradient(loss, batch.detach().numpy())
    np.testing.assert_allclose(batch.grad, wanted, rtol=1e-5, atol=1e-7)


def test_weights_scale_every_draw_of_an_example() -> None:
    features, labels = blobs(30)
    head = made(features, labels, bottleneck=3, beta=0.3, draws=2, dropout=0.0).double()
    batch, known = torch.from_numpy(features[:4]).double(), torch.from_numpy(labels[:4])
    weights = torch.tensor([0.0, 2, 1.5, 0.5]).double()
    torch.manual_seed(5)
    got = head.loss(batch, known, weights).loss
    layers, noise = layers_of(head), frozen_noise(head, 4, 5)
    each = [
        ref.loss(layers, features[i : i + 1].astype(float), [int(labels[i])], noise[:, [i]], 0.3)
        for i in range(4)
    ]
    assert got.item() == pytest.approx(float(weights.numpy() @ each) / 4, rel=1e-6)


def test_divergence_by_hand_and_by_torch() -> None:
    mean, spread = torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 2.0]])
    zero, one = torch.zeros(2), torch.ones(2)
    got = gaussian_divergence(mean, spread, zero, one)
    torch.testing.assert_close(got, torch.tensor([0.5 + 1.5 - float(np.log(2))]))
    assert gaussian_divergence(zero.unsqueeze(0), one.unsqueeze(0), zero, one).item() == 0.0
    normal = torch.distributions.Normal
    expected = torch.distributions.kl_divergence(normal(mean, spread), normal(zero + 0.3, one * 2))
    torch.testing.assert_close(
        gaussian_divergence(mean, spread, zero + 0.3, one * 2), expected.sum(dim=1)
    )


def test_beta_grows_by_the_epoch_up_to_one() -> None:
    features, labels = blobs(30)
    head = made(features, labels, beta=0.4)  # 4 steps in an epoch
    betas = []
    for _ in range(14):
        betas.append(head.trace()["beta"].item())
        head.settle()
    assert betas == pytest.approx([ref.annealed(0.4, step, 4) for step in range(14)])
    assert betas[0] == pytest.approx(0.4)
    assert betas[-1] == 1.0


def test_the_divergence_is_positive_and_falls_when_it_is_weighed() -> None:
    features, labels = blobs(60)
    known = torch.from_numpy(labels)
    last = {}
    for beta in (0.0, 1.0):
        head = made(features, labels, beta=beta, dropout=0.0)
        batch = torch.nn.Parameter(torch.from_numpy(features.copy()))
        head.loss(batch, known)
        first = head.trace()["kl"].item()
        assert first > 0
        torch.manual_seed(0)
        train(head, batch, known, 40)
        last[beta] = head.trace()["kl"].item()
    assert 0 < last[1.0] < 0.5 * first
    assert last[1.0] < 0.5 * last[0.0]


def test_the_prior_is_learned() -> None:
    features, labels = blobs(60)
    head = made(features, labels, beta=1.0)
    head.loss(torch.from_numpy(features), torch.from_numpy(labels)).loss.backward()
    assert head.prior_mean.grad is not None
    assert head.prior_spread.grad is not None
    assert head.prior_mean.grad.abs().min() > 0
    assert head.prior_spread.grad.abs().min() > 0
    assert not torch.equal(head.prior_mean, torch.zeros_like(head.prior_mean))


def test_codes_are_drawn_in_training_only() -> None:
    features, labels = blobs(60)
    batch, known = torch.from_numpy(features), torch.from_numpy(labels)
    head = made(features, labels, dropout=0.0)
    torch.manual_seed(1)
    one, other = head.loss(batch, known), head.loss(batch, known)
    assert one.parts["fit"] != other.parts["fit"]
    assert torch.equal(one.parts["bottleneck"], other.parts["bottleneck"])
    head.eval()
    assert torch.equal(head.loss(batch, known).loss, head.loss(batch, known).loss)
    assert torch.equal(head(batch), head(batch))
    bare = made(features, labels, dropout=0.0, draws=0)
    assert torch.equal(bare.loss(batch, known).loss, bare.loss(batch, known).loss)


def test_features_are_dropped_in_training_only() -> None:
    features, labels = blobs(60)
    batch = torch.from_numpy(features)
    head = made(features, labels, dropout=0.5, draws=0)
    assert not torch.equal(head(batch), head(batch))
    head.eval()
    assert torch.equal(head(batch), head(batch))


def test_more_draws_give_a_steadier_loss() -> None:
    features, labels = blobs(20)
    batch, known = torch.from_numpy(features), torch.from_numpy(labels)
    torch.manual_seed(0)
    spread = {}
    for draws in (1, 25):
        head = made(features, labels, dropout=0.0, draws=draws)
        with torch.no_grad():
            head.linear.weight.mul_(5)
        values = torch.stack([head.loss(batch, known).parts["fit"] for _ in range(60)])
        spread[draws] = values.std().item()
    assert spread[25] < 0.5 * spread[1]


def test_weights_scale_the_losses() -> None:
    features, labels = blobs(20)
    batch, known = torch.from_numpy(features), torch.from_numpy(labels)
    head = made(features, labels, beta=0.1)
    head.eval()
    each = torch.stack([head.loss(batch[i : i + 1], known[i : i + 1]).loss for i in range(6)])
    weights = torch.tensor([0.0, 2, 1, 1, 2, 0])
    got = head.loss(batch[:6], known[:6], weights).loss
    torch.testing.assert_close(got, (each * weights).mean())


@pytest.mark.parametrize(("dimension", "size"), [(768, 288), (384, 144), (32, 12), (1, 1)])
def test_the_size_of_the_code(dimension: int, size: int) -> None:
    head = VIBERT(VIBERTConfig(), HeadShape(dimension, 2))
    assert head.linear.in_features == size
    hidden = (dimension + size) // 2
    assert head.second.out_features == hidden
    assert head.first.out_features == (hidden + dimension) // 2


def test_first_weights_have_the_variance_of_a_linear_layer() -> None:
    features, labels = blobs(20, dimension=64)
    head = made(features, labels, bottleneck=48)
    for layer in (head.first, head.second, head.to_mean, head.to_spread):
        usual = torch.nn.Linear(layer.in_features, layer.out_features).weight.std().item()
        assert layer.weight.std().item() == pytest.approx(usual, rel=0.1)
        assert not layer.bias.any()
    assert 0.7 < head.prior_mean.std().item() < 1.3


def test_the_seed_decides_the_first_values() -> None:
    features, labels = blobs(20)
    one, same, other = (made(features, labels, seed=seed) for seed in (1, 1, 2))
    for name, value in one.named_parameters():
        assert torch.equal(value, same.get_parameter(name))
        assert torch.equal(value, other.get_parameter(name)) == name.endswith("bias")


def test_regression_fits_values() -> None:
    features, _ = blobs(60)
    targets = features[:, 0] / features[:, 0].std() - features[:, 0].mean()
    head = made(features, targets, dropout=0.0)
    torch.manual_seed(0)
    moving = torch.nn.Parameter(torch.from_numpy(features.copy()))
    results = train(head, moving, torch.from_numpy(targets), 150)
    assert results[0].prediction.shape == (60, 1)
    assert results[-1].parts["fit"] < 0.5 * results[0].parts["fit"]


def test_computes_in_float32_under_autocast() -> None:
    features, labels = blobs(60)
    head = made(features, labels).eval()
    half = torch.from_numpy(features).to(torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside, result = head(half), head.loss(half, torch.from_numpy(labels))
    assert inside.dtype == result.loss.dtype == torch.float32
    assert torch.equal(inside, head(half.float()))


@pytest.mark.parametrize(
    ("name", "value"), [("bottleneck", 0), ("beta", -1.0), ("draws", -1), ("dropout", 1.0)]
)
def test_a_setting_out_of_range_is_named(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"head.{name} is {value}"):
        VIBERTConfig(**{name: value})
