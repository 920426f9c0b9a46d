"""The PFit head as a function: gradients, precision, extremes, symmetry, saving, compiling."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from helpers.heads import CLASSES, make_batch, make_head
from protofit.methods.base import HeadShape
from protofit.methods.pfit import PFit
from protofit.methods.pfit_config import DiversityConfig, PFitConfig, ScaleConfig

DOUBLE = torch.float64
PRESETS = ("paper", "default")
TASKS = ("classification", "regression")


def loud(preset: str) -> PFitConfig:
    """The preset with cohesion, and a diversity term large enough to see."""
    config = PFitConfig.preset(preset)
    diversity = replace(config.diversity, weight=0.5)
    return replace(config, diversity=diversity, cohesion_weight=0.7)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("preset", PRESETS)
def test_gradients_of_the_loss(task: str, preset: str) -> None:
    config = loud(preset)
    head = make_head(
        replace(config, creation=replace(config.creation, capacity=8)), task=task, dtype=DOUBLE
    )
    features, labels = make_batch(7, task=task, dtype=DOUBLE)
    head.threshold.fill_(9.0)
    leaves = {
        "bank.vectors": head.bank.vectors.detach().clone().requires_grad_(),
        "bank.outputs": head.bank.outputs.detach().clone().requires_grad_(),
        "log_variance": head.log_variance.detach().clone().requires_grad_(),
    }
    features.requires_grad_()
    weights = torch.linspace(0.5, 1.5, 7, dtype=DOUBLE)

    class Loss(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = head

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head.loss(x, labels, weights).loss

    def loss(x: torch.Tensor, *values: torch.Tensor) -> torch.Tensor:
        named = {f"head.{name}": value for name, value in zip(leaves, values, strict=True)}
        return torch.func.functional_call(Loss(), named, (x,))

    assert torch.autograd.gradcheck(loss, (features, *leaves.values()), atol=1e-7)


@pytest.mark.parametrize("task", TASKS)
def test_weights_scale_the_losses(task: str) -> None:
    head = make_head(task=task)
    features, labels = make_batch(6, task=task)
    rows = zip(features.split(1), labels.split(1), strict=True)
    each = torch.stack([head.loss(x, y).parts["fit"] for x, y in rows])
    weights = torch.tensor([0.0, 2, 1, 1, 2, 0])
    got = head.loss(features, labels, weights).parts["fit"]
    torch.testing.assert_close(got, (each * weights).mean())


def test_the_loss_is_the_sum_of_its_parts() -> None:
    head = make_head(loud("default"))
    head.threshold.fill_(9.0)
    result = head.loss(*make_batch(6))
    assert set(result.parts) == {"fit", "diversity", "cohesion", "neighbour"}
    assert all(part > 0 and not part.requires_grad for part in result.parts.values())
    assert result.loss.item() == pytest.approx(sum(p.item() for p in result.parts.values()))


def test_cohesion_looks_at_the_rows_of_the_class_and_at_the_weights() -> None:
    """Class 2 has one row in the head's bank: its texts have nothing to choose from."""
    head = make_head(replace(PFitConfig(), cohesion_weight=2.0), dtype=DOUBLE)
    features, labels = make_batch(9, dtype=DOUBLE)
    weights = torch.linspace(0, 2, 9, dtype=DOUBLE)
    head.group_variance.fill_(1.3)
    vectors, variance = head.bank.vectors.detach().numpy(), 1.3
    expected = 0.0
    for x, label, weight in zip(features.numpy(), labels.tolist(), weights.tolist(), strict=True):
        own = [k for k in range(5) if [0, 1, 2, 0, 1][k] == label]
        density = [math.exp(-sum((x - vectors[k]) ** 2) / (2 * variance)) for k in own]
        expected += 2.0 * weight * -math.log(max(density) / sum(density)) / 9
    assert expected > 0
    found = head.loss(features, labels, weights).parts["cohesion"].item()
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("narrow", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("task", TASKS)
def test_narrow_features_are_computed_in_float32(
    task: str, preset: str, narrow: torch.dtype
) -> None:
    """As if they had been widened before: no distance, importance or λ is rounded to theirs."""
    head, other = (make_head(loud(preset), task=task) for _ in range(2))
    features, labels = make_batch(6, task=task)
    features = features.to(narrow)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        head.observe(features, labels)
        inside, result = head(features), head.loss(features, labels)
    other.observe(features.float(), labels)
    wide = other.loss(features.float(), labels)
    assert inside.dtype == result.loss.dtype == result.prediction.dtype == torch.float32
    assert torch.equal(inside, other(features.float()))
    assert torch.equal(result.loss, wide.loss)
    assert torch.equal(result.prediction, wide.prediction)
    assert all(torch.equal(part, wide.parts[name]) for name, part in result.parts.items())
    for name, value in other.state_dict().items():
        assert torch.equal(head.state_dict()[name], value), name
    assert {value.dtype for value in head.trace().values()} <= {torch.float32, torch.int64}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("scale", [0.0, 1.0, 1e4])
def test_extreme_distances_give_no_nan(task: str, preset: str, scale: float) -> None:
    config = PFitConfig.preset(preset)
    head = make_head(config, task=task)
    head.bank.vectors.data.mul_(scale)
    features, labels = make_batch(6, task=task)
    features = (features * scale).requires_grad_()
    for _ in range(3):
        head.observe(features, labels)
        result = head.loss(features, labels)
        result.loss.backward()
        head.settle()
    assert bool(result.prediction.isfinite().all())
    assert bool(result.loss.isfinite())
    for leaf in (features, *head.parameters()):
        assert leaf.grad is not None
        assert bool(leaf.grad.isfinite().all())
    assert all(bool(value.isfinite()) for value in head.trace().values())


def test_identical_features_for_a_long_time_give_no_nan() -> None:
    config = PFitConfig.preset("default")
    head = make_head(replace(config, scale=replace(config.scale, momentum=0.5)))
    head.bank.vectors.data.fill_(0.5)
    features, labels = torch.full((6, 4), 0.5), torch.arange(6) % CLASSES
    for _ in range(200):  # the tracked spread halves at every step, down to zero
        head.observe(features, labels)
        head.settle()
    assert bool(head.threshold.isfinite())
    assert bool(head.loss(features, labels).loss.isfinite())


@pytest.mark.parametrize("seed", range(5))
def test_probabilities_sum_to_one(seed: int) -> None:
    head = make_head(seed=seed)
    head.bank.outputs.data.copy_(torch.randn(head.bank.outputs.shape))
    prob = head(make_batch(20, seed=seed)[0] * 3).exp()
    assert bool((prob >= 0).all())
    torch.testing.assert_close(prob.sum(dim=1), torch.ones(20), rtol=0, atol=1e-6)


def test_regression_stays_between_the_smallest_and_the_largest_value() -> None:
    head = make_head(task="regression")
    values = head.bank.outputs[head.bank.active]
    predicted = head(make_batch(50, task="regression")[0] * 3)
    assert predicted.shape == (50, 1)
    assert values.min() <= predicted.min() < predicted.max() <= values.max()


def test_permuting_the_classes_permutes_the_columns() -> None:
    head, other = make_head(dtype=DOUBLE), make_head(dtype=DOUBLE)
    order = torch.tensor([2, 0, 1])  # class c is called order[c] by the other head
    other.bank.outputs.data[:, order] = head.bank.outputs.data
    other.bank.labels.copy_(order[head.bank.labels])
    features, labels = make_batch(12, dtype=DOUBLE)
    for one, named in ((head, labels), (other, order[labels])):
        one.observe(features, named)
    torch.testing.assert_close(other(features)[:, order], head(features), rtol=0, atol=1e-12)
    first, second = head.loss(features, labels).loss, other.loss(features, order[labels]).loss
    assert second.item() == pytest.approx(first.item(), rel=1e-12)
    assert torch.equal(other.bank.active, head.bank.active)


@pytest.mark.parametrize("task", TASKS)
def test_a_saved_head_predicts_the_same_to_the_last_bit(task: str, tmp_path: Path) -> None:
    head = make_head(PFitConfig.preset("default"), task=task)
    features, labels = make_batch(9, task=task)
    head.observe(features, labels)
    head.settle()
    save_file(head.state_dict(), tmp_path / "head.safetensors")
    state = load_file(tmp_path / "head.safetensors")
    other = PFit(head.config, head.shape)
    other.load_state_dict(state)
    assert torch.equal(other(features), head(features))
    first, second = head.loss(features, labels).loss, other.loss(features, labels).loss
    assert torch.equal(first, second)


def test_a_fixed_threshold_keeps_the_first() -> None:
    form = DiversityConfig(weight=1.0, threshold="fixed")
    head = make_head(PFitConfig(diversity=form), dtype=DOUBLE)
    features, labels = make_batch(8, dtype=DOUBLE)
    head.observe(features, labels)
    first = head.threshold.clone()
    before = head.loss(features, labels).parts["diversity"]
    head.settle()
    head.log_variance.data.add_(1.0)
    head.observe(features[:0], labels[:0])
    assert head.threshold > first
    assert torch.equal(head.first_threshold, first)
    known = head.bank.vectors[head.bank.active].detach()
    gaps = (first - torch.pdist(known)).clamp_min(0).square().sum()
    assert before.item() == pytest.approx(gaps.item())
    assert head.loss(features, labels).parts["diversity"].item() == pytest.approx(gaps.item())


def test_examples_of_weight_zero_are_not_looked_at() -> None:
    head, other = (make_head(PFitConfig(scale=ScaleConfig(variance=0.1))) for _ in range(2))
    features, labels = make_batch(6)
    weights = torch.tensor([1.0, 1, 1, 1, 0, 0])
    head.observe(features, labels, weights)
    other.observe(features[:4], labels[:4])
    assert int(head.created) > 0
    for name, value in other.state_dict().items():
        torch.testing.assert_close(head.state_dict()[name], value, msg=name)


def compile_both(backend: str) -> None:
    """Compare the compiled head with the plain one, values and gradients."""
    head = make_head(loud("default"), dtype=DOUBLE)
    head.threshold.fill_(9.0)
    features, labels = make_batch(8, dtype=DOUBLE)
    torch._dynamo.reset()
    compiled = torch.compile(head.loss, fullgraph=True, backend=backend)
    forward = torch.compile(head.forward, fullgraph=True, backend=backend)
    plain = head.loss(features, labels).loss
    expected = torch.autograd.grad(plain, list(head.parameters()))
    loss = compiled(features, labels).loss
    got = torch.autograd.grad(loss, list(head.parameters()))
    assert loss.item() == pytest.approx(plain.item(), rel=1e-12)
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(forward(features), head(features), rtol=1e-10, atol=1e-12)


def test_loss_and_forward_are_one_graph() -> None:
    compile_both("aot_eager")


@pytest.mark.slow  # half a minute of C++ compiler on a processor
def test_loss_and_forward_compile_to_native_code() -> None:
    from torch._inductor.exc import InvalidCxxCompiler

    try:
        compile_both("inductor")
    except (InvalidCxxCompiler, torch._dynamo.exc.BackendCompilerFailed) as error:
        if "compiler" not in str(error).lower():
            raise
        pytest.skip("needs a C++ compiler, which is not here")


@pytest.mark.parametrize("classes", [2, 3, 77])
@pytest.mark.parametrize("certainty", [0.6, 0.98])
def test_a_newborn_is_as_certain_as_asked_for_any_number_of_classes(
    classes: int, certainty: float
) -> None:
    head = PFit(PFitConfig(beta=None, certainty=certainty), HeadShape(4, classes))
    (outputs,) = head.first_outputs(torch.tensor([1]))
    assert torch.softmax(outputs, dim=0)[1].item() == pytest.approx(certainty, rel=1e-5)
    assert outputs[1].item() == -outputs[0].item() > 0


def test_the_shape_decides_the_columns() -> None:
    head = PFit(PFitConfig(), HeadShape(4, 7))
    assert head.bank.outputs.shape == (100, 7)
    assert PFit(PFitConfig(), HeadShape(4, 1, "regression")).edges.shape == (7,)
