"""Prototypes that go with their texts, against loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers.problems import Problem, problems, tensor
from protofit.errors import InputError
from protofit.prototypes.follow import FollowConfig, followed
from protofit.prototypes.functional import sqdist
from reference.functions import sqdist as slow_sqdist


def slow(problem: Problem, labels: list[int], together: float, own: float) -> np.ndarray:
    """First the prototypes of a class by its mean residual, then each towards its own texts."""
    rows = problem.rows.tolist()
    nearest = []
    for x, label in zip(problem.features, labels, strict=True):
        mine = [k for k, row in enumerate(rows) if row == label and problem.active[k]]
        far = {k: slow_sqdist(x, problem.vectors[k]) for k in mine}
        nearest.append(min(far, key=lambda k: (far[k], k)) if far else None)
    moved = problem.vectors.copy()
    for k, row in enumerate(rows):
        texts = [i for i, label in enumerate(labels) if label == row]
        if problem.active[k] and texts:
            away = [problem.features[i] - problem.vectors[nearest[i]] for i in texts]
            moved[k] = moved[k] + (1 - (1 - together) ** len(texts)) * np.mean(away, axis=0)
    for k in range(len(rows)):
        texts = [i for i in range(len(labels)) if nearest[i] == k]
        if texts:
            centre = np.mean([problem.features[i] for i in texts], axis=0)
            moved[k] = moved[k] + (1 - (1 - own) ** len(texts)) * (centre - moved[k])
    return moved


@given(problems(), st.floats(0, 1), st.floats(0, 1))
def test_it_is_what_the_equations_say(problem: Problem, together: float, own: float) -> None:
    labels = (np.arange(len(problem.features)) % problem.logits.shape[1]).tolist()
    vectors, features = tensor(problem.vectors), tensor(problem.features)
    mine = (torch.tensor(labels).unsqueeze(1) == tensor(problem.rows)) & tensor(problem.active)
    distances = sqdist(features, vectors).round(decimals=9)  # equal ones are equal in both
    config = FollowConfig(together=together, own=own)
    found = followed(vectors, features, mine, distances, config).numpy()
    np.testing.assert_allclose(found, slow(problem, labels, together, own), atol=1e-7)


@given(problems())
def test_rows_without_texts_of_their_class_stay_to_the_digit(problem: Problem) -> None:
    vectors, features = tensor(problem.vectors), tensor(problem.features)
    mine = (tensor(problem.rows) == 0) & tensor(problem.active)
    own = mine.expand(len(features), -1)
    config = FollowConfig(together=0.3, own=0.2)
    found = followed(vectors, features, own, sqdist(features, vectors), config)
    assert torch.equal(found[~mine], vectors[~mine])


def test_prototypes_of_a_class_keep_their_places_to_each_other_when_it_moves() -> None:
    """A class that moves as a whole takes all of its prototypes along, the rare ones too."""
    vectors = torch.tensor([[0.0, 0], [0, 4]], dtype=torch.float64)
    step = torch.tensor([1.0, 0], dtype=torch.float64)
    features = torch.cat([vectors[:1].repeat(5, 1), vectors[1:]]) + step
    own = torch.ones(6, 2, dtype=torch.bool)
    config = FollowConfig(together=1.0)
    found = followed(vectors, features, own, sqdist(features, vectors), config)
    torch.testing.assert_close(found, vectors + step)


@pytest.mark.parametrize("name", ["together", "own"])
@pytest.mark.parametrize("value", [-0.1, 1.5])
def test_a_share_lies_between_0_and_1(name: str, value: float) -> None:
    with pytest.raises(InputError, match=rf"head\.follow\.{name}"):
        FollowConfig(**{name: value})
