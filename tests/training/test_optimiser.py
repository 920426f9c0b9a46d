"""The optimiser: groups, rates, forgotten rows, and state that survives being flat."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from protofit.config.train import TrainConfig
from protofit.training.optimiser import (
    build_optimiser,
    flat_state,
    load_flat_state,
    set_rates,
    zero_rows,
)


def make_model(seed: int = 0) -> Any:
    """An encoder of a matrix, a bias, a norm and a frozen layer; a head of rows and a scalar."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        encoder = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 4))
        encoder[2].requires_grad_(requires_grad=False)
        head = nn.ParameterDict({"rows": torch.randn(5, 4), "scale": torch.zeros(())})
    return SimpleNamespace(encoder=encoder, head=head)


def learn(model: Any, optimiser: torch.optim.Optimizer, steps: int, first: int = 0) -> None:
    """Steps on data that depends on the step only."""
    for step in range(first, first + steps):
        draw = torch.Generator().manual_seed(step)
        features = model.encoder(torch.randn(6, 4, generator=draw))
        distances = (features.unsqueeze(1) - model.head["rows"]).square().sum(dim=2)
        optimiser.zero_grad()
        (distances.mean() * model.head["scale"].exp()).backward()
        optimiser.step()


def parameters(model: Any) -> list[torch.Tensor]:
    found = [*model.encoder.parameters(), *model.head.parameters()]
    return [p.detach().clone() for p in found]


def test_only_encoder_matrices_decay_and_frozen_parameters_are_left_out() -> None:
    model = make_model()
    config = TrainConfig(learning_rate=1e-3, head_learning_rate=1e-2, weight_decay=0.3)
    optimiser = build_optimiser(model, config)
    matrices, vectors, head = optimiser.param_groups
    assert isinstance(optimiser, torch.optim.AdamW)
    assert [tuple(p.shape) for p in matrices["params"]] == [(4, 4)]
    assert len(vectors["params"]) == 3
    assert len(head["params"]) == 2
    assert [g["weight_decay"] for g in optimiser.param_groups] == [0.3, 0.0, 0.0]
    assert [g["lr"] for g in optimiser.param_groups] == [1e-3, 1e-3, 1e-2]


def test_without_decay_it_is_adam_and_the_head_shares_the_rate() -> None:
    optimiser = build_optimiser(make_model(), TrainConfig(weight_decay=0.0, learning_rate=3e-4))
    assert type(optimiser) is torch.optim.Adam
    assert {g["lr"] for g in optimiser.param_groups} == {3e-4}


def test_a_frozen_encoder_leaves_the_head() -> None:
    model = make_model()
    model.encoder.requires_grad_(requires_grad=False)
    (group,) = build_optimiser(model, TrainConfig()).param_groups
    assert len(group["params"]) == 2
    assert group["weight_decay"] == 0.0


def test_rates_are_shares_of_the_peak_however_often_they_are_set() -> None:
    config = TrainConfig(learning_rate=1e-3, head_learning_rate=1e-2)
    optimiser = build_optimiser(make_model(), config)
    for factor in (0.5, 0.25, 1.0, 0.1):
        set_rates(optimiser, factor)
        got = [g["lr"] for g in optimiser.param_groups]
        assert got == pytest.approx([1e-3 * factor, 1e-3 * factor, 1e-2 * factor])


def test_a_step_decays_the_matrix_and_not_the_rest() -> None:
    model = make_model()
    rate, decay = 0.1, 0.5
    optimiser = build_optimiser(model, TrainConfig(learning_rate=rate, weight_decay=decay))
    before = parameters(model)
    for p in (*model.encoder.parameters(), *model.head.parameters()):
        p.grad = torch.zeros_like(p) if p.requires_grad else None
    optimiser.step()
    after = parameters(model)
    torch.testing.assert_close(after[0], before[0] * (1 - rate * decay))
    assert all(torch.equal(a, b) for a, b in zip(after[1:], before[1:], strict=True))


def test_forgotten_rows_lose_their_moments_and_no_others() -> None:
    model = make_model()
    optimiser = build_optimiser(model, TrainConfig(learning_rate=0.01))
    learn(model, optimiser, 3)
    rows = model.head["rows"]
    before = {name: value.clone() for name, value in optimiser.state[rows].items()}
    mask = torch.tensor([True, False, False, True, False])
    zero_rows(optimiser, rows, mask)
    for name in ("exp_avg", "exp_avg_sq"):
        value = optimiser.state[rows][name]
        assert not value[mask].any()
        assert torch.equal(value[~mask], before[name][~mask])
        assert bool(value[~mask].any())
    assert optimiser.state[rows]["step"].item() == 3


def test_nothing_is_forgotten_before_the_first_step() -> None:
    model = make_model()
    optimiser = build_optimiser(model, TrainConfig())
    zero_rows(optimiser, model.head["rows"], torch.ones(5, dtype=torch.bool))
    assert flat_state(optimiser) == {}


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_a_run_goes_on_from_flat_state_as_if_never_stopped(decay: float) -> None:
    config = TrainConfig(learning_rate=0.02, weight_decay=decay)
    whole, first, second = make_model(), make_model(), make_model(seed=9)
    learn(whole, build_optimiser(whole, config), 6)
    optimiser = build_optimiser(first, config)
    learn(first, optimiser, 3)
    flat = {name: value.clone() for name, value in flat_state(optimiser).items()}
    assert all(isinstance(value, torch.Tensor) for value in flat.values())
    second.encoder.load_state_dict(first.encoder.state_dict())
    second.head.load_state_dict(first.head.state_dict())
    resumed = build_optimiser(second, config)
    load_flat_state(resumed, flat)
    learn(second, resumed, 3, first=3)
    pairs = zip(parameters(second), parameters(whole), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


def test_loading_keeps_the_rates_of_the_new_run() -> None:
    model = make_model()
    optimiser = build_optimiser(model, TrainConfig(learning_rate=0.02))
    learn(model, optimiser, 1)
    other = build_optimiser(model, TrainConfig(learning_rate=0.5))
    load_flat_state(other, flat_state(optimiser))
    assert {g["peak"] for g in other.param_groups} == {0.5}
    assert other.state[model.head["rows"]]["step"].item() == 1
