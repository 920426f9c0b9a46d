"""Early stopping: the best weights are kept, patience is counted, ties are not better."""

from __future__ import annotations

import pytest
import torch

from protofit.training.stopping import Stopping


class Model(torch.nn.Module):
    """A model that is one number."""

    def __init__(self) -> None:
        super().__init__()
        self.value = torch.nn.Parameter(torch.zeros(()))
        self.register_buffer("clock", torch.zeros((), dtype=torch.long))


def run(scores: list[list[float]], patience: int) -> tuple[Stopping, int]:
    """See the scores of epochs whose model is the number of the epoch, until the stop."""
    stopping, model = Stopping(patience), Model()
    for epoch, score in enumerate(scores, start=1):
        model.value.data.fill_(epoch)
        model.clock.fill_(10 * epoch)
        stopping.see(score, model)
        if stopping.stopped:
            return stopping, epoch
    return stopping, len(scores)


@pytest.mark.parametrize(
    ("scores", "patience", "best_epoch", "epochs", "stopped"),
    [
        ([0.1, 0.2, 0.3], 1, 3, 3, False),
        ([0.3, 0.2], 1, 1, 2, True),
        ([0.3, 0.2, 0.1, 0.0], 2, 1, 3, True),
        ([0.3, 0.2, 0.4, 0.3, 0.5], 2, 5, 5, False),  # patience starts anew
        ([0.3, 0.3, 0.3], 2, 1, 3, True),  # a tie is not better: the earlier model stays
    ],
)
def test_stops_when_the_best_stays_the_best(
    scores: list[float], patience: int, best_epoch: int, epochs: int, stopped: bool
) -> None:
    stopping, seen = run([[score] for score in scores], patience)
    assert (seen, stopping.stopped) == (epochs, stopped)
    assert stopping.best == [scores[best_epoch - 1]]
    assert stopping.weights["value"].item() == best_epoch
    assert stopping.weights["clock"].item() == 10 * best_epoch


def test_the_second_figure_decides_between_equal_first_ones() -> None:
    stopping, _ = run([[0.8, -0.5], [0.8, -0.4], [0.8, -0.6], [0.7, -0.1]], 9)
    assert stopping.best == [0.8, -0.4]
    assert stopping.weights["value"].item() == 2
    assert stopping.bad_epochs == 2


def test_kept_weights_are_copies() -> None:
    stopping, model = Stopping(2), Model()
    stopping.see([1.0], model)
    model.value.data.fill_(7.0)
    assert stopping.weights["value"].item() == 0.0
    assert not stopping.weights["value"].requires_grad


def test_an_interrupted_count_goes_on() -> None:
    stopping = Stopping(2, best=[0.9], bad_epochs=1, weights={"value": torch.tensor(5.0)})
    stopping.see([0.8], Model())
    assert stopping.stopped
    assert stopping.weights["value"].item() == 5.0
