"""Evidence for one prediction: the prototypes that carried it, and the strongest against it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from protofit.data.tokens import Tokens
from protofit.explain.decoded import decoded
from protofit.explain.reading import Parts, Reading
from protofit.explain.results import Explanation, Label, PrototypeEvidence, Text
from protofit.model.bundle import Bundle

TOP = 5  # prototypes listed
NEAR = 3  # training texts listed for each, and for the text itself


def explain(
    bundle: Bundle, inputs: Sequence[Any], *, top: int | None = TOP, neighbours: int = NEAR
) -> list[Explanation]:
    """One explanation for each text or pair; `top=None` lists all prototypes."""
    reading = Reading.of(bundle)
    if not len(inputs):
        return []
    features, tokens = reading.features(inputs)
    cut = _cut(bundle, inputs, tokens)
    found: list[Explanation] = []
    for start in range(0, len(inputs), reading.block):
        span = slice(start, start + reading.block)
        parts = reading.parts(features[span])
        plain = features[span].double().cpu().numpy()
        near = reading.search(plain, neighbours)
        for i, text in enumerate(inputs[span]):
            teller = _Teller(reading, parts, i, top, neighbours)
            near_text = (near[0][i], near[1][i])
            found.append(teller.told(text, plain[i], near_text, cut=start + i in cut))
    return found


def _cut(bundle: Bundle, inputs: Sequence[Any], tokens: Tokens) -> set[int]:
    """Which of the texts are longer than the model reads."""
    if not tokens.truncated:
        return set()
    longest = np.flatnonzero(tokens.lengths == tokens.lengths.max())
    return {i for i in longest.tolist() if bundle.tokens([inputs[i]]).truncated}


class _Teller:
    """One row of a block, in words and numbers."""

    def __init__(
        self, reading: Reading, parts: Parts, i: int, top: int | None, neighbours: int
    ) -> None:
        self.reading, self.parts, self.i = reading, parts, i
        self.top, self.neighbours = top, neighbours

    def told(self, text: Text, feature: np.ndarray, near: Any, *, cut: bool) -> Explanation:
        reading, parts, i = self.reading, self.parts, self.i
        chances = parts.probabilities[i]
        order = np.argsort(-chances, kind="stable")
        best = int(order[0])
        strength = self._strength(best)
        listed = np.argsort(-strength, kind="stable")[: self.top]
        rest = np.setdiff1d(np.arange(len(strength)), listed)
        runner = None if reading.regression else int(order[1])
        counter = None
        if runner is not None:
            counter = self._evidence(self._advocate(runner), runner)
        distance = float(parts.distances[i].min())
        survey = reading.survey
        return Explanation(
            text=text,
            task=reading.bundle.task,
            method=reading.method,
            classes=reading.classes,
            prediction=float(chances[0]) if reading.regression else reading.label(best),
            probability=None if reading.regression else float(chances[best]),
            probabilities=[] if reading.regression else [float(p) for p in chances],
            runner_up=None if runner is None else reading.label(runner),
            evidence=[self._evidence(int(k), best) for k in listed],
            rest_count=len(rest),
            rest_share=float(parts.share[i, rest, best].sum()),
            base=float(parts.base[i, best]),
            counter=counter,
            novelty=None if survey is None else survey.novelty(distance),
            log_density=float(parts.density[i]),
            distance=distance,
            nearest=reading.neighbours(*near),
            position=reading.plane.place(feature),
            truncated=cut,
        )

    def _advocate(self, runner: int) -> int:
        """The prototype of this class that adds most to it; of any class where it has none."""
        share = self.parts.share[self.i, :, runner]
        mine = self.reading.groups == runner
        return int(np.where(mine, share, -1).argmax() if mine.any() else share.argmax())

    def _strength(self, best: int) -> np.ndarray:
        """What evidence is ordered by: shares; z in a mixture of values, which may be 0."""
        if self.reading.regression and self.reading.mixture:
            return np.asarray(self.parts.importance[self.i])
        return np.asarray(np.abs(self.parts.share[self.i, :, best]))

    def _evidence(self, k: int, column: int) -> PrototypeEvidence:
        reading, parts, i = self.reading, self.parts, self.i
        without = parts.without[i, k]
        alone = bool(np.isnan(without).any())
        target: Label | None = None if reading.regression else reading.label(column)
        return PrototypeEvidence(
            row=reading.rows[k],
            name=reading.name(k),
            label=reading.labels_of(k),
            importance=float(parts.importance[i, k]),
            outputs=[float(value) for value in reading.outputs[k]],
            target=target,
            share=float(parts.share[i, k, column]),
            without=None if alone else float(without[column]),
            shares=[float(value) for value in parts.share[i, k]],
            withouts=None if alone else [float(value) for value in without],
            nearest=reading.near_prototype(k, self.neighbours),
            decoded=decoded(reading, k),
        )
